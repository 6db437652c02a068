import { describe, expect, test } from 'vitest'
import type { JsonObject, Message } from '../../protocol/index.ts'
import { foldMessage } from '../../protocol/index.ts'
import {
  blockStart,
  blockStop,
  delta,
  messageEnd,
  messageStart,
  readFrames,
  textBlock,
  toolUse,
} from './anthropic.test-kit.ts'
import { anthropicMessageCache } from './messages.ts'
import { anthropicBody } from './request.ts'
import { traitsOf } from './traits.ts'

const model = 'claude-opus-4-6'

/** The next request after an answer, with a result for each of its calls. */
function nextBody(frames: readonly unknown[], extra?: JsonObject) {
  const { events, calls, error } = readFrames(frames)
  expect(error).toBeUndefined()
  const answer = foldMessage(events)
  const results = calls.map(
    ({ callId, name }): Message => ({ role: 'tool', callId, name, content: [{ type: 'text', text: 'ok' }] }),
  )
  const messages: Message[] = [{ role: 'user', content: 'Hi' }, ...(answer ? [answer] : []), ...results]
  const settings = extra ? { extra } : {}
  return anthropicBody(
    { messages, tools: [], settings },
    {
      model,
      convert: anthropicMessageCache('anthropic'),
      traits: traitsOf(model),
      settings,
      cache: undefined,
    },
  )
}

const assistantOf = ({ messages }: JsonObject) =>
  (messages as JsonObject[]).find(({ role }) => role === 'assistant')?.content

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString()

describe('blocks are sent back unchanged', () => {
  test('a compaction, with its deltas merged in', () => {
    const body = nextBody([
      messageStart(),
      blockStart(0, { type: 'compaction', content: null }),
      delta(0, 'compaction_delta', { content: 'What was ', encrypted_content: 'x1' }),
      delta(0, 'compaction_delta', { content: 'said.' }),
      blockStop(0),
      ...textBlock(1, 'On we go.'),
      ...messageEnd('end_turn'),
    ])
    expect(assistantOf(body)).toEqual([
      { type: 'compaction', content: 'What was said.', encrypted_content: 'x1' },
      { type: 'text', text: 'On we go.' },
    ])
  })

  test('unknown types, and unknown fields', () => {
    const fallback = { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } }
    const moon = { type: 'moon_phase', id: 'moon_1', phase: { of: 3 } }
    const body = nextBody([
      messageStart(),
      blockStart(0, { type: 'thinking', thinking: '', signature: '', mood: 'calm' }),
      delta(0, 'thinking_delta', { thinking: 'Hm.' }),
      delta(0, 'signature_delta', { signature: 's1' }),
      blockStop(0),
      blockStart(1, { type: 'redacted_thinking', data: 'r', mood: 'calm' }),
      blockStop(1),
      blockStart(2, fallback),
      blockStop(2),
      blockStart(3, moon),
      blockStop(3),
      ...textBlock(4, 'Yes.'),
      ...messageEnd('end_turn'),
    ])
    expect(assistantOf(body)).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: 's1', mood: 'calm' },
      { type: 'redacted_thinking', data: 'r', mood: 'calm' },
      fallback,
      moon,
      { type: 'text', text: 'Yes.' },
    ])
  })
})

describe('content in message_start', () => {
  const result = { type: 'code_execution_tool_result', tool_use_id: 'srv_1', content: { stdout: '1' } }
  const caller = { type: 'code_execution_20250825', tool_id: 'srv_1' }
  const use = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { id: 7 }, caller }
  const container = (expires_at: string) => ({ id: 'container_1', expires_at })
  const start = (more: object = {}) => ({
    type: 'message_start',
    message: {
      ...messageStart().message,
      content: [result, use],
      container: container(tomorrow()),
      stop_reason: 'tool_use',
      ...more,
    },
  })

  test('is read like streamed content', () => {
    expect(readFrames([start(), { type: 'message_stop' }])).toMatchObject({
      calls: [{ callId: 'toolu_1', name: 'look', input: { id: 7 } }],
      finish: 'tool-calls',
      ended: true,
    })
    // Streamed blocks continue its numbering.
    expect(
      readFrames([start({ stop_reason: null }), ...textBlock(2, 'Done.'), ...messageEnd('end_turn')]),
    ).toMatchObject({
      calls: [{ callId: 'toolu_1' }],
      text: 'Done.',
    })
  })

  test('is sent back whole, with the container', () => {
    const body = nextBody([start(), { type: 'message_stop' }])
    expect(body.container).toBe('container_1')
    expect(assistantOf(body)).toEqual([result, use])
  })

  test('is read once if it is repeated', () => {
    expect(readFrames([start(), start(), { type: 'message_stop' }]).calls).toHaveLength(1)
  })

  test('a container at the end is sent back too, and emits no text', () => {
    const frames = [
      messageStart(),
      ...toolUse(0, 'a', 'look', '{}'),
      ...messageEnd('tool_use', { container: container(tomorrow()) }),
    ]
    const body = nextBody(frames)
    expect(body.container).toBe('container_1')
    expect(assistantOf(body)).toEqual([{ type: 'tool_use', id: 'a', name: 'look', input: {} }])
  })

  test('an expired container is not sent, and extra.container takes precedence', () => {
    const over = start({ container: container('2020-01-01T00:00:00Z') })
    expect(nextBody([over, { type: 'message_stop' }])).not.toHaveProperty('container')
    const stop = { type: 'message_stop' }
    expect(nextBody([start(), stop], { container: 'mine' }).container).toBe('mine')
    const skills = [{ type: 'anthropic', skill_id: 'pptx' }]
    expect(nextBody([start(), stop], { container: { skills } }).container).toEqual({
      id: 'container_1',
      skills,
    })
  })
})

describe('usage with a compaction', () => {
  const iteration = (type: string, input_tokens: number, output_tokens: number) => ({
    type,
    input_tokens,
    output_tokens,
    cache_read_input_tokens: 5,
    cache_creation_input_tokens: 0,
  })

  test('includes it, and reports the length of the conversation afterwards', () => {
    const usage = {
      input_tokens: 612,
      output_tokens: 2819,
      cache_read_input_tokens: 5,
      iterations: [iteration('compaction', 60_385, 522), iteration('message', 612, 2819)],
    }
    const { events } = readFrames([
      messageStart(),
      ...textBlock(0, 'Hi'),
      ...messageEnd('end_turn', {}, usage),
    ])
    expect(events.at(-1)).toMatchObject({
      usage: { inputTokens: 61_007, outputTokens: 3341, cacheReadTokens: 10 },
      contextTokens: 612 + 5 + 2819,
    })
  })

  test('iterations without a compaction are already in the total', () => {
    const usage = { output_tokens: 9, iterations: [iteration('message', 5, 4), iteration('message', 5, 5)] }
    const { events } = readFrames([
      messageStart(),
      ...textBlock(0, 'Hi'),
      ...messageEnd('end_turn', {}, usage),
    ])
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 10, outputTokens: 9 } })
    expect(events.at(-1)).not.toHaveProperty('contextTokens')
  })
})

test('a stop after a compaction is a pause before the answer', () => {
  const block = { type: 'compaction', content: 'What was said.' }
  const { paused, events } = readFrames([
    messageStart(),
    blockStart(0, block),
    blockStop(0),
    ...messageEnd('compaction'),
  ])
  expect(paused).toMatchObject({ content: [block] })
  expect(events.map(({ type }) => type)).toEqual(['provider-tool'])
})

describe('an answer that restarts', () => {
  const other = (id: string) => ({ ...messageStart(), message: { ...messageStart().message, id } })
  const cut = [
    messageStart(),
    blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, 'thinking_delta', { thinking: 'Old.' }),
    delta(0, 'signature_delta', { signature: 'old' }),
    blockStop(0),
    blockStart(1, { type: 'tool_use', id: 'a', name: 'delete_file', input: {} }),
  ]
  const read = { callId: 'b', name: 'read_file', input: { path: 'report.txt' } }

  test.each([
    [
      'with another message',
      [...cut, other('msg_2'), ...toolUse(0, 'b', 'read_file', '{"path":"report.txt"}')],
    ],
    ['with a block at the same index', [...cut, ...toolUse(1, 'b', 'read_file', '{"path":"report.txt"}')]],
    ['with a lower index', [...cut, ...toolUse(0, 'b', 'read_file', '{"path":"report.txt"}')]],
  ])('%s keeps only what comes after', (_, frames) => {
    const { calls, events, error } = readFrames([...frames, ...messageEnd('tool_use')])
    expect(error).toBeUndefined()
    expect(calls).toEqual([read])
    expect(events.filter(({ type }) => type === 'restart')).toHaveLength(1)
    expect(foldMessage(events)?.content).toMatchObject([{ type: 'tool-call', name: 'read_file' }])
  })

  test('after its first call was complete still emits that call, which may be running', () => {
    const frames = [
      messageStart(),
      ...toolUse(0, 'a', 'look', '{"id":1}'),
      other('msg_2'),
      ...textBlock(0, 'Hi'),
      ...messageEnd('end_turn'),
    ]
    const { events } = readFrames(frames)
    expect(events.map(({ type }) => type)).toEqual([
      'tool-input-start',
      'tool-input',
      'tool-call',
      'restart',
      'text',
      'done',
    ])
  })

  test('has only the usage of the second', () => {
    const { usage } = readFrames([
      messageStart({ input_tokens: 1000, output_tokens: 1 }),
      ...textBlock(0, 'Hi'),
      other('msg_2'),
      ...textBlock(0, 'Hi'),
      ...messageEnd('end_turn'),
    ])
    expect(usage).toMatchObject({ inputTokens: 10 })
  })
})
