import { describe, expect, it } from 'vitest'
import { endOf, request } from './anthropic.test-kit.ts'
import { messageBuilder } from './message-builder.ts'

const options = { id: 'msg_1', model: 'agent', isBeta: false }

describe('a message in one piece', () => {
  it('has the result of a tool after the text during which it came', () => {
    const writer = messageBuilder(options)
    const call = { callId: 's1', name: 'find', isClient: false, seq: 1, arguments: '' }
    writer.callComplete(call, 1)
    writer.delta('text', 'Mean', 1)
    writer.callResult({ ...call, result: { text: 'found', value: undefined, isError: false } }, 1)
    writer.delta('text', 'while', 1)
    writer.closePart('text', 1)
    writer.end(endOf({}), 1)
    expect(writer.message().content).toMatchObject([
      { type: 'mcp_tool_use', input: {} },
      { type: 'text', text: 'Meanwhile' },
      { type: 'mcp_tool_result' },
    ])
  })

  it('leaves out what was retracted or is void', () => {
    const writer = messageBuilder(options)
    const call = { callId: 'c1', name: 'pick', isClient: true, seq: 1, arguments: '{"of":"sky"}' }
    writer.roundStart(1)
    writer.delta('text', 'First.', 1)
    writer.closePart('text', 1)
    writer.roundStart(2)
    writer.delta('text', 'Wrong', 2)
    writer.callComplete({ ...call, callId: 'c0' }, 2)
    writer.retract(3)
    writer.roundStart(4)
    writer.callComplete({ ...call, callId: 's1', isClient: false }, 4)
    writer.callVoid({ ...call, callId: 's1', isClient: false }, 4)
    writer.callComplete(call, 5)
    writer.end(endOf({ outcome: 'suspended', waiting: [request('c1', 'result')] }), 6)
    expect(writer.message()).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'text', text: 'First.' },
        { type: 'tool_use', id: 'c1', name: 'pick', input: { of: 'sky' } },
      ],
    })
  })
})
