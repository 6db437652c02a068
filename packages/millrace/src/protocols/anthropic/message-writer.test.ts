import { describe, expect, it } from 'vitest'
import type { ErrorJson } from '../../protocol/index.ts'
import type { AnswerCall, AnswerEnd } from '../model-api/index.ts'
import { endOf, readFrames, request } from './anthropic.test-kit.ts'
import { messageWriter } from './message-writer.ts'

const options = { id: 'msg_1', model: 'agent', isBeta: false }

/** Drives a writer by hand. The ids of the server's calls start with `s`, those of the client's eager ones with `c`. */
function driven(more: Partial<typeof options> = {}) {
  const writer = messageWriter({
    ...options,
    ...more,
    requestId: 'req_1',
    isEager: (name) => name.startsWith('tool_c'),
  })
  let frames = ''
  const calls = new Map<string, AnswerCall>()
  function call(callId: string): AnswerCall {
    const isClient = !callId.startsWith('s')
    const known = calls.get(callId) ?? { callId, name: `tool_${callId}`, isClient, seq: 1, arguments: '' }
    calls.set(callId, known)
    return known
  }
  const steps: Record<string, (rest: string) => string> = {
    round: () => writer.roundStart(1),
    text: (rest) => writer.delta('text', rest, 1),
    think: (rest) => writer.delta('reasoning', rest, 1),
    '/text': () => writer.closePart('text', 1),
    '/think': () => writer.closePart('reasoning', 1),
    retract: () => writer.retract(1),
  }
  const onCall: Record<string, (call: AnswerCall, rest: string) => string> = {
    call: (one) => writer.callStart(one, 1),
    input(one, rest) {
      one.arguments += rest
      return writer.callDelta(one, rest, 1)
    },
    '/call': (one) => writer.callComplete(one, 1),
    void: (one) => writer.callVoid(one, 1),
    result(one, rest) {
      one.result = { text: rest, value: undefined, isError: false }
      return writer.callResult(one, 1)
    },
  }
  frames += writer.start(1, 0)
  return {
    writer,
    frames: () => frames,
    /** `text Hello`, `call c1`, `input c1 {}`, … */
    run(...lines: readonly string[]) {
      for (const line of lines) {
        const [, verb = '', rest = ''] = /^(\S+) ?(.*)$/s.exec(line) ?? []
        const [, id = '', value = ''] = /^(\S*) ?(.*)$/s.exec(rest) ?? []
        frames += steps[verb]?.(rest) ?? onCall[verb]?.(call(id), value)
      }
    },
    end(end: Partial<AnswerEnd> = {}) {
      frames += writer.end(endOf(end), 1)
      return readFrames(frames)
    },
  }
}

describe('a message stream', () => {
  it('has one block after another, whatever overlaps in the run', () => {
    const { run, end } = driven()
    run('round', 'call c1', 'input c1 {"a"', 'call s1', 'input s1 {"x":1}', '/call s1', 'call c2')
    run('input c2 {}', 'result s1 done', 'text Meanwhile', '/call c2', 'input c1 :1}', '/call c1', '/text')
    const { blocks, stop } = end({ outcome: 'suspended', waiting: [request('c1', 'result')] })
    expect(blocks.map(({ content, deltas }) => [content.type, deltas])).toEqual([
      ['tool_use', { input_json_delta: '{"a":1}' }],
      ['mcp_tool_use', {}],
      ['tool_use', { input_json_delta: '{}' }],
      ['mcp_tool_result', {}],
      ['text', { text_delta: 'Meanwhile' }],
    ])
    expect(stop.stop_reason).toBe('tool_use')
  })

  it('never overlaps blocks, in any of many random orders', () => {
    let seed = 1
    const random = (count: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % count
    }
    for (let order = 0; order < 100; order++) {
      const { run, end } = driven()
      const open: string[] = []
      const complete: string[] = []
      let part = ''
      let next = 0
      for (let step = 0; step < 40; step++) {
        const kinds = [
          'text',
          'think',
          'client',
          'buffered',
          'server',
          'input',
          'complete',
          'void',
          'result',
          'retract',
        ]
        const kind = kinds[random(kinds.length)] as string
        const take = (ids: string[]) => ids.splice(random(ids.length), 1)[0]
        const isPart = kind === 'text' || kind === 'think'
        if (part && part !== kind) {
          // The fold may leave a part open while a result arrives.
          if (kind !== 'result') {
            run(`/${part}`)
            part = ''
          }
        }
        if (isPart) {
          run(`${kind} word`)
          part = kind
        } else if (kind === 'client' || kind === 'buffered' || kind === 'server') {
          const id = `${kind[0]}${next++}`
          open.push(id)
          run(`call ${id}`)
        } else if (kind === 'input' && open.length > 0) run(`input ${open[random(open.length)]} 1`)
        else if (kind === 'complete' && open.length > 0) {
          const id = take(open) as string
          if (id.startsWith('s')) complete.push(id)
          run(`/call ${id}`)
        } else if (kind === 'void' && open.length > 0) run(`void ${take(open)}`)
        else if (kind === 'result' && complete.length > 0) run(`result ${take(complete)} done`)
        else if (kind === 'retract') {
          run('retract', 'round')
          open.length = complete.length = 0
          part = ''
        }
      }
      if (part) run(`/${part}`)
      for (const id of [...open, ...complete]) run(`void ${id}`)
      const { blocks, error } = end()
      if (error) continue
      const used = blocks.flatMap(({ content }) => (content.type === 'mcp_tool_use' ? [content.id] : []))
      const results = blocks.flatMap(({ content }) => content.tool_use_id ?? [])
      // Each call of the server has exactly one result.
      expect(results.toSorted()).toEqual(used.toSorted())
    }
  })

  it('signs thinking, and closes it before text', () => {
    const { run, end } = driven()
    run('think Hm', 'think m', '/think', 'text Yes', '/text')
    expect(end().blocks).toEqual([
      {
        content: { type: 'thinking', thinking: '', signature: '' },
        deltas: { thinking_delta: 'Hmm', signature_delta: expect.stringMatching(/./) },
      },
      { content: { type: 'text', text: '', citations: null }, deltas: { text_delta: 'Yes' } },
    ])
  })

  it("has the whole input of a server's call in its first event", () => {
    const { run, end, frames } = driven()
    run('call s1', 'input s1 {"city":', 'input s1 "Oslo"}', '/call s1', 'result s1 rain')
    expect(end().blocks.map(({ content }) => content)).toEqual([
      { type: 'mcp_tool_use', id: 's1', name: 'tool_s1', input: { city: 'Oslo' }, server_name: 'millrace' },
      {
        type: 'mcp_tool_result',
        tool_use_id: 's1',
        is_error: false,
        content: [{ type: 'text', text: 'rain', citations: null }],
      },
    ])
    expect(frames()).not.toContain('input_json_delta')
  })

  it('makes an eager call unreadable that is generated again, so that no client runs it', () => {
    for (const cut of ['{"command":"rm -rf /', '{"force":true', '{"path":"\\']) {
      const { run, end } = driven()
      run('round', 'call c1', `input c1 ${cut}`, 'retract', 'round', 'call c2', 'input c2 {}', '/call c2')
      const [first] = end({ outcome: 'suspended', waiting: [request('c2', 'result')] }).blocks
      const input = first?.deltas.input_json_delta ?? ''
      expect(input.startsWith(cut)).toBe(true)
      expect(() => JSON.parse(input)).toThrow()
    }
  })

  it('ends with an error if a complete call is generated again, so that no client runs both', () => {
    const { run, end } = driven()
    run('round', 'call c1', 'input c1 {}', '/call c1', 'text So', 'retract', 'round', 'text Again', '/text')
    run('call c2', 'input c2 {}', '/call c2', 'call s1', '/call s1', 'result s1 done')
    const { blocks, error } = end({ outcome: 'suspended', waiting: [request('c2', 'result')] })
    expect(error?.type).toBe('overloaded_error')
    expect(blocks.map(({ content }) => content.type)).toEqual(['tool_use', 'text'])
  })

  it('leaves an eager call as it is that was cut off by the token limit', () => {
    const { run, end } = driven()
    run('round', 'call c1', 'input c1 {"a":', 'void c1')
    const { blocks, stop } = end({ outcome: 'truncated', finish: 'length' })
    expect(blocks[0]?.deltas).toEqual({ input_json_delta: '{"a":' })
    expect(stop.stop_reason).toBe('max_tokens')
  })

  it("shows a client's call when it is complete, unless the tool is eager", () => {
    const { run, end } = driven()
    run(
      'call b1',
      'input b1 {"a"',
      'call c1',
      'input c1 {',
      'text Meanwhile',
      '/text',
      'input b1 :1}',
      '/call b1',
    )
    run('call b2', 'input b2 {"x', 'void b2', 'input c1 }', '/call c1')
    const { blocks } = end({
      outcome: 'suspended',
      waiting: [request('b1', 'result'), request('c1', 'result')],
    })
    expect(blocks.map(({ content, deltas }) => [content.id, deltas])).toEqual([
      ['c1', { input_json_delta: '{}' }],
      [undefined, { text_delta: 'Meanwhile' }],
      ['b1', { input_json_delta: '{"a":1}' }],
    ])
  })

  it('leaves out a void call that was not shown yet', () => {
    const { run, end } = driven()
    run('call c1', 'call c2', 'input c2 {', 'void c2', 'input c1 {}', '/call c1')
    expect(end().blocks.map(({ content }) => content.id)).toEqual(['c1'])
  })

  it('asks for approvals in words, at the end', () => {
    const { run, end } = driven()
    run('text Sure.', '/text', 'call s1', 'input s1 {}', '/call s1', 'void s1')
    const { blocks, stop } = end({ outcome: 'suspended', approvals: [request('s1')] })
    expect(blocks.map(({ content }) => content.type)).toEqual([
      'text',
      'mcp_tool_use',
      'mcp_tool_result',
      'text',
    ])
    expect(blocks[2]?.content.is_error).toBe(true)
    expect(blocks[3]?.deltas.text_delta).toContain('`cut` with {"where":"here"}')
    expect(stop.stop_reason).toBe('end_turn')
  })

  it.each([
    [{}, 'end_turn'],
    [{ finish: 'refusal' }, 'refusal'],
    [{ finish: 'content-filter' }, 'refusal'],
    [{ outcome: 'truncated', finish: 'length' }, 'max_tokens'],
    [{ outcome: 'max-rounds', finish: 'tool-calls' }, 'max_tokens'],
    [{ outcome: 'budget', finish: 'tool-calls' }, 'max_tokens'],
    [{ outcome: 'suspended', finish: 'tool-calls', waiting: [request('c1', 'result')] }, 'tool_use'],
  ] as const)('of a run that ends with %j has the right stop reason', (ended, reason) => {
    expect(driven().end(ended).stop.stop_reason).toBe(reason)
  })

  it('ends with an error event if the run fails', () => {
    const { run, end } = driven()
    run('text Well')
    const error: ErrorJson = { op: 'model.stream', code: 'overloaded', message: 'busy', retryable: true }
    const message = end({ outcome: 'failed', error })
    expect(message.error).toEqual({ type: 'overloaded_error', message: 'busy' })
  })

  it('counts cached tokens apart', () => {
    const usage = {
      inputTokens: 100,
      outputTokens: 20,
      reasoningTokens: 5,
      cacheReadTokens: 60,
      cacheWriteTokens: 30,
    }
    expect(driven().end({ usage }).usage).toEqual({
      input_tokens: 10,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
      output_tokens: 20,
      output_tokens_details: { thinking_tokens: 5 },
      server_tool_use: null,
    })
  })
})
