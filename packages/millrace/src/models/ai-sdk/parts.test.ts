import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../protocol/index.ts'
import { foldMessage } from '../../protocol/index.ts'
import type { Part } from './ai-sdk.test-kit.ts'
import { collect, fakeModel, stop, toolCalls, usage } from './ai-sdk.test-kit.ts'
import { partReader } from './parts.ts'

const eventsOf = async (...parts: Part[]) => {
  const { events, error } = await collect(fakeModel([parts]))
  if (error) throw error
  return events
}

/** The assistant message folded from the events. */
const folded = async (...parts: Part[]) => foldMessage(await eventsOf(...parts, stop))?.content

const words = (id: string, ...deltas: string[]): Part[] =>
  deltas.map((delta) => ({ type: 'text-delta', id, delta }))
const thoughts = (id: string, ...deltas: string[]): Part[] =>
  deltas.map((delta) => ({ type: 'reasoning-delta', id, delta }))
const meta = (signature: string) => ({ acme: { signature } })
const opaque = (signature: string) => ({ provider: 'acme.chat', data: meta(signature) })

describe('text and reasoning', () => {
  test('are emitted as they arrive, without empty deltas', async () => {
    const events = await eventsOf(
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: 'r' },
      ...thoughts('r', 'h', '', 'm'),
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: 't' },
      ...words('t', 'Hel', '', 'lo'),
      { type: 'text-end', id: 't' },
      stop,
    )
    expect(events).toStrictEqual([
      { type: 'reasoning', text: 'h' },
      { type: 'reasoning', text: 'm' },
      { type: 'part-end', part: 'reasoning' },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
      { type: 'done', finish: 'stop', usage: { inputTokens: 5, outputTokens: 7 } },
    ])
  })

  test('the latest metadata of a block is attached to its part', async () => {
    const content = await folded(
      { type: 'reasoning-start', id: 'r', providerMetadata: meta('first') },
      ...thoughts('r', 'hm'),
      { type: 'reasoning-delta', id: 'r', delta: '', providerMetadata: meta('second') },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: 't' },
      ...words('t', 'Hi'),
      { type: 'text-end', id: 't', providerMetadata: { acme: { signature: 't', nothing: undefined } } },
    )
    expect(content).toStrictEqual([
      { type: 'reasoning', text: 'hm', opaque: opaque('second') },
      { type: 'text', text: 'Hi', opaque: opaque('t') },
    ])
  })

  test('a block without text keeps its metadata and its position', async () => {
    const content = await folded(
      ...words('a', 'A'),
      { type: 'reasoning-start', id: 'r', providerMetadata: meta('redacted') },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: 'b', providerMetadata: meta('alone') },
      { type: 'text-end', id: 'b' },
      ...words('c', 'C'),
    )
    expect(content).toStrictEqual([
      { type: 'text', text: 'A' },
      { type: 'reasoning', text: '', opaque: opaque('redacted') },
      { type: 'text', text: '', opaque: opaque('alone') },
      { type: 'text', text: 'C' },
    ])
  })

  test('two blocks of the same kind are two parts', async () => {
    const content = await folded(
      ...words('a', 'A'),
      { type: 'text-end', id: 'a' },
      ...words('b', 'B'),
      { type: 'text-end', id: 'b', providerMetadata: meta('b') },
      ...thoughts('r', 'R'),
      { type: 'reasoning-end', id: 'r' },
      ...thoughts('s', 'S'),
      { type: 'reasoning-end', id: 's', providerMetadata: meta('s') },
    )
    expect(content).toStrictEqual([
      { type: 'text', text: 'A' },
      { type: 'text', text: 'B', opaque: opaque('b') },
      { type: 'reasoning', text: 'R' },
      { type: 'reasoning', text: 'S', opaque: opaque('s') },
    ])
  })

  test('overlapping blocks keep their own metadata', async () => {
    const content = await folded(
      { type: 'reasoning-start', id: 'a', providerMetadata: meta('a') },
      ...thoughts('a', 'A'),
      { type: 'reasoning-start', id: 'b', providerMetadata: meta('b') },
      ...thoughts('b', 'B'),
      { type: 'reasoning-end', id: 'a', providerMetadata: meta('a') },
      { type: 'reasoning-end', id: 'b', providerMetadata: meta('b') },
    )
    expect(content).toStrictEqual([
      { type: 'reasoning', text: 'A', opaque: opaque('a') },
      { type: 'reasoning', text: 'B', opaque: opaque('b') },
    ])
  })

  test('late metadata of a block is emitted once, after the current block', async () => {
    const content = await folded(
      { type: 'reasoning-start', id: 'a', providerMetadata: meta('early') },
      ...thoughts('a', 'A'),
      ...thoughts('b', 'B'),
      { type: 'reasoning-end', id: 'a', providerMetadata: meta('sealed') },
      ...thoughts('b', 'B'),
      { type: 'reasoning-end', id: 'b', providerMetadata: meta('sealed') },
      ...thoughts('c', 'C'),
      ...words('t', 'T'),
      { type: 'reasoning-end', id: 'c', providerMetadata: meta('c') },
      { type: 'text-end', id: 't', providerMetadata: meta('t') },
    )
    expect(content).toStrictEqual([
      { type: 'reasoning', text: 'A', opaque: opaque('early') },
      { type: 'reasoning', text: 'BB', opaque: opaque('sealed') },
      { type: 'reasoning', text: 'C' },
      { type: 'text', text: 'T', opaque: opaque('t') },
      { type: 'reasoning', text: '', opaque: opaque('c') },
    ])
  })

  test('a block that never ends is ended with the answer', async () => {
    const events = await eventsOf(
      { type: 'reasoning-start', id: 'r', providerMetadata: meta('r') },
      ...thoughts('r', 'R'),
      stop,
    )
    expect(events.slice(0, 2)).toStrictEqual([
      { type: 'reasoning', text: 'R' },
      { type: 'part-end', part: 'reasoning', opaque: opaque('r') },
    ])
  })

  test('a call in the middle of a text splits it and is emitted at once', async () => {
    const content = await folded(
      { type: 'text-start', id: '0' },
      ...words('0', 'A'),
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' },
      ...words('0', 'B'),
      { type: 'text-end', id: '0' },
    )
    expect(content?.map(({ type }) => type)).toEqual(['text', 'tool-call', 'text'])
  })
})

describe('calls', () => {
  const start: Part = { type: 'tool-input-start', id: 'c1', toolName: 'look' }
  const delta = (delta: string): Part => ({ type: 'tool-input-delta', id: 'c1', delta })
  const call = (input: unknown, more: object = {}): Part => ({
    type: 'tool-call',
    toolCallId: 'c1',
    toolName: 'look',
    input,
    ...more,
  })

  test('are emitted as they stream, and closed by the tool-call part', async () => {
    const events = await eventsOf(
      start,
      delta('{"id"'),
      delta(':1}'),
      { type: 'tool-input-end', id: 'c1' },
      call('{"id":1}', { providerMetadata: meta('thought') }),
      toolCalls,
    )
    expect(events).toStrictEqual([
      { type: 'tool-input-start', callId: 'c1', name: 'look' },
      { type: 'tool-input', callId: 'c1', delta: '{"id"' },
      { type: 'tool-input', callId: 'c1', delta: ':1}' },
      { type: 'tool-call', callId: 'c1', name: 'look', input: { id: 1 }, opaque: opaque('thought') },
      { type: 'done', finish: 'tool-calls', usage: { inputTokens: 5, outputTokens: 7 } },
    ])
  })

  test.each<[string, Part]>([
    ['in one piece', call('{"id":1}')],
    ['with an object for its input', call({ id: 1 })],
  ])('a call %s still emits its start and input', async (_, part) => {
    expect((await eventsOf(part, toolCalls)).slice(0, 3)).toStrictEqual([
      { type: 'tool-input-start', callId: 'c1', name: 'look' },
      { type: 'tool-input', callId: 'c1', delta: '{"id":1}' },
      { type: 'tool-call', callId: 'c1', name: 'look', input: { id: 1 } },
    ])
  })

  test('tool-input-end does not close a call', async () => {
    const length: Part = { type: 'finish', finishReason: { unified: 'length', raw: 'max' }, usage }
    const events = await eventsOf(start, delta('{"id":1}'), { type: 'tool-input-end', id: 'c1' }, length)
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input', 'done'])
    expect(events.at(-1)).toMatchObject({ finish: 'length' })
  })

  test('arguments that are not JSON are a problem', async () => {
    const events = await eventsOf(start, delta('{"id'), call('{"id'), toolCalls)
    expect(events[2]).toMatchObject({ raw: '{"id', problem: expect.stringContaining('not valid JSON') })
  })

  test.each(['stop', 'other', 'tool-calls'])(
    'with a call, the finish reason %s becomes tool-calls',
    async (unified) => {
      const events = await eventsOf(call('{}'), {
        type: 'finish',
        finishReason: { unified, raw: 'x' },
        usage,
      })
      expect(events.at(-1)).toMatchObject({ finish: 'tool-calls' })
    },
  )

  test.each(['', ' ', '{}', '{"id":'])('that are cut off are not closed: %j', (input) => {
    const finish = (unified: string) => ({
      type: 'finish',
      finishReason: { unified, raw: unified },
      usage: {},
    })
    const parts = (unified: string) => {
      const events: ModelEvent[] = []
      const reader = partReader(events, {
        provider: 'p',
        toolNames: new Set(['del']),
        failure: (error) => error as never,
      })
      reader.read({ type: 'tool-input-start', id: 't', toolName: 'del' })
      reader.read({ type: 'tool-call', toolCallId: 't', toolName: 'del', input })
      try {
        reader.read(finish(unified))
      } catch {
        // `interrupted` is a failure.
      }
      return events.filter(({ type }) => type === 'tool-call')
    }
    expect(parts('length')).toEqual([])
    expect(parts('interrupted')).toEqual([])
    expect(parts('tool-calls')).toHaveLength(1)
  })
})

describe('a tool that the provider runs', () => {
  test('is counted if it is a web search of OpenAI', async () => {
    const result = (action: object): Part => ({
      type: 'tool-result',
      toolCallId: 's1',
      toolName: 'web_search',
      result: { action },
    })
    const events = await eventsOf(
      result({ type: 'search', query: 'cats' }),
      result({ type: 'openPage', url: 'https://example.org' }),
      result({ type: 'search', query: 'dogs' }),
      stop,
    )
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 5, outputTokens: 7, webSearches: 2 } })
  })

  test('is emitted as it runs, and not as a tool call', async () => {
    const events = await eventsOf(
      { type: 'tool-input-start', id: 's1', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-input-delta', id: 's1', delta: '{"query":"x"}' },
      { type: 'tool-input-end', id: 's1' },
      {
        type: 'tool-call',
        toolCallId: 's1',
        toolName: 'web_search',
        input: '{"query":"x"}',
        providerExecuted: true,
        providerMetadata: meta('call'),
      },
      { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result: ['half'], preliminary: true },
      { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result: { hits: 1 } },
      { type: 'tool-result', toolCallId: 's2', toolName: 'fetch', result: 'gone', isError: true },
      toolCalls,
    )
    const search = { type: 'provider-tool', callId: 's1', name: 'web_search' }
    const result = { provider: 'acme.chat', data: { type: 'tool-result' } }
    expect(events).toStrictEqual([
      search,
      {
        ...search,
        input: { query: 'x' },
        opaque: { provider: 'acme.chat', data: { type: 'tool-call', providerMetadata: meta('call') } },
      },
      { ...search, output: ['half'] },
      { ...search, output: { hits: 1 }, opaque: result },
      { type: 'provider-tool', callId: 's2', name: 'fetch', output: 'gone', isError: true, opaque: result },
      { type: 'done', finish: 'stop', usage: { inputTokens: 5, outputTokens: 7 } },
    ])
  })

  test('a tool that is flagged only in its call does not start as a tool call', async () => {
    const events = await eventsOf(
      { type: 'tool-input-start', id: 's1', toolName: 'computer' },
      { type: 'tool-input-delta', id: 's1', delta: '{}' },
      { type: 'tool-call', toolCallId: 's1', toolName: 'computer', input: '{}', providerExecuted: true },
      stop,
    )
    expect(events.map(({ type }) => type)).toEqual(['provider-tool', 'done'])
  })

  test('an unknown tool is emitted as a tool call', async () => {
    const events = await eventsOf(
      { type: 'tool-input-start', id: 'c1', toolName: 'invented' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"a":1}' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'invented', input: '{"a":1}' },
      toolCalls,
    )
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input', 'tool-call', 'done'])
  })

  test('a custom provider item is kept', async () => {
    const content = await folded({ type: 'custom', kind: 'acme.compaction', providerMetadata: meta('c') })
    expect(content).toStrictEqual([
      {
        type: 'provider-tool',
        callId: 'acme.compaction_1',
        name: 'acme.compaction',
        opaque: { provider: 'acme.chat', data: { type: 'custom', providerMetadata: meta('c') } },
      },
    ])
  })

  test('a provider tool that needs approval fails with advice', async () => {
    const { error } = await collect(
      fakeModel([[{ type: 'tool-approval-request', approvalId: 'a', toolCallId: 's' }]]),
    )
    expect(error).toMatchObject({
      code: 'llm_error',
      message: expect.stringContaining('configure that tool to run without approval'),
    })
  })

  test('comes after the calls before it', () => {
    const events: ModelEvent[] = []
    const reader = partReader(events, {
      provider: 'p',
      toolNames: new Set(['del']),
      failure: (error) => error as never,
    })
    reader.read({ type: 'tool-call', toolCallId: 'a', toolName: 'del', input: '{"id":1}' })
    reader.read({
      type: 'tool-call',
      toolCallId: 'b',
      toolName: 'search',
      input: '{}',
      providerExecuted: true,
    })
    expect(events.map(({ type }) => type)).toEqual([
      'tool-input-start',
      'tool-input',
      'tool-call',
      'provider-tool',
    ])
  })
})

describe('the end', () => {
  test.each<[unknown, string]>([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content-filter', 'content-filter'],
    ['tool-calls', 'stop'],
    ['other', 'other'],
    ['unknown', 'other'],
    [{ unified: 'stop', raw: undefined }, 'stop'],
    [{ unified: 'content-filter', raw: 'refusal' }, 'refusal'],
    [{ unified: 'content-filter', raw: 'SAFETY' }, 'content-filter'],
    [{ unified: 'other', raw: 'compaction' }, 'other'],
  ])('%j is %s', async (finishReason, finish) => {
    expect((await eventsOf({ type: 'finish', finishReason, usage })).at(-1)).toMatchObject({ finish })
  })

  test.each<[string, unknown, object]>([
    [
      'v4',
      {
        inputTokens: { total: 10, noCache: 4, cacheRead: 5, cacheWrite: 1 },
        outputTokens: { total: 8, text: 5, reasoning: 3 },
        raw: { anything: 1 },
      },
      { inputTokens: 10, outputTokens: 8, reasoningTokens: 3, cacheReadTokens: 5, cacheWriteTokens: 1 },
    ],
    [
      'v4 with the usage of Anthropic',
      {
        inputTokens: { total: 10, cacheWrite: 6 },
        outputTokens: { total: 8 },
        raw: {
          cache_creation: { ephemeral_1h_input_tokens: 4 },
          server_tool_use: { web_search_requests: 2 },
        },
      },
      { inputTokens: 10, outputTokens: 8, cacheWriteTokens: 6, cacheWrite1hTokens: 4, webSearches: 2 },
    ],
    [
      'v4 with the usage of Gemini',
      {
        inputTokens: { total: 10 },
        outputTokens: { total: 8 },
        raw: {
          promptTokensDetails: [
            { modality: 'TEXT', tokenCount: 1 },
            { modality: 'AUDIO', tokenCount: 9 },
          ],
          candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 8 }],
        },
      },
      { inputTokens: 10, outputTokens: 8, inputAudioTokens: 9, outputImageTokens: 8 },
    ],
    [
      'v2',
      { inputTokens: 10, outputTokens: 8, totalTokens: 18, reasoningTokens: 3, cachedInputTokens: 5 },
      { inputTokens: 10, outputTokens: 8, reasoningTokens: 3, cacheReadTokens: 5 },
    ],
    ['half', { inputTokens: { total: undefined }, outputTokens: { total: 8 } }, { outputTokens: 8 }],
  ])('usage in the format of %s is converted', async (_, usage, ours) => {
    expect((await eventsOf({ type: 'finish', finishReason: 'stop', usage })).at(-1)).toStrictEqual({
      type: 'done',
      finish: 'stop',
      usage: ours,
    })
  })

  test('keeps warnings, sources, files and provider metadata', async () => {
    const events = await eventsOf(
      { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'seed' }] },
      { type: 'response-metadata', id: 'r1', modelId: 'acme-1-0901', timestamp: new Date(0) },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://a.example' },
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2]) },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQI=' } },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://a.example/b') } },
      { type: 'raw', rawValue: {} },
      { type: 'ping' },
      { type: 'from-the-future' },
      {
        type: 'finish',
        finishReason: { unified: 'other', raw: 'odd' },
        usage,
        providerMetadata: { acme: { tier: 1, no: undefined } },
      },
    )
    expect(events).toStrictEqual([
      {
        type: 'done',
        finish: 'other',
        usage: { inputTokens: 5, outputTokens: 7 },
        metadata: {
          warnings: [{ type: 'unsupported', feature: 'seed' }],
          id: 'r1',
          model: 'acme-1-0901',
          finishReason: 'odd',
          sources: [{ sourceType: 'url', id: 's', url: 'https://a.example' }],
          files: [
            { mediaType: 'image/png', data: 'AQI=' },
            { mediaType: 'image/png', data: 'AQI=' },
            { mediaType: 'image/png', url: 'https://a.example/b' },
          ],
          provider: { acme: { tier: 1 } },
        },
      },
    ])
  })

  const noUsage = { inputTokens: undefined, outputTokens: undefined }
  test.each<[string, Part[]]>([
    ['without a finish', []],
    [
      'that the provider reports as interrupted',
      [{ type: 'finish', finishReason: { unified: 'interrupted' } }],
    ],
    ['of unknown reason and no usage (v2)', [{ type: 'finish', finishReason: 'unknown', usage: noUsage }]],
    [
      'without a reason or usage (v3)',
      [{ type: 'finish', finishReason: { unified: 'other', raw: undefined }, usage: noUsage }],
    ],
    ['with an unspecified error', [{ type: 'finish', finishReason: { unified: 'error' }, usage }]],
  ])('an end %s is a retryable failure', async (_, parts) => {
    const { events, error } = await collect(fakeModel([[...words('t', 'Half'), ...parts]]))
    expect(events).toStrictEqual([{ type: 'text', text: 'Half' }])
    expect(error).toMatchObject({ code: 'stream_error', retryable: true })
  })

  test('a web search does not make an end without a reason complete', async () => {
    const result = { action: { type: 'search', query: 'cats' } }
    const { error } = await collect(
      fakeModel([
        [
          { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result },
          { type: 'finish', finishReason: 'unknown', usage: noUsage },
        ],
      ]),
    )
    expect(error).toMatchObject({ code: 'stream_error' })
  })
})
