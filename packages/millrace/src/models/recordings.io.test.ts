import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sized, some, stride } from '../../../../test/size.ts'
import type { ModelEvent } from '../protocol/index.ts'
import { isMillraceError, sseReader } from '../protocol/index.ts'
import type { Recording, Summary } from './recordings.test-kit.ts'
import {
  expectedSummary,
  modelOf,
  names,
  present,
  readerOf,
  recordingsOf,
  summarize,
  terminalOf,
  tools,
} from './recordings.test-kit.ts'
import type { Fetch } from './wire/http-response.ts'
import { drain } from './wire/wire.test-kit.ts'

const recorded = test.skipIf(!present)

/**
 * Numbers between 0 and 1, the same in every run. (mulberry32 by Tommy Ettinger, public domain.)
 */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

function everyBytes(bytes: Uint8Array, size: () => number): Uint8Array[] {
  const chunks: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + size()
    chunks.push(bytes.subarray(at, end))
    at = end
  }
  return chunks
}

const encode = (texts: readonly string[]) => texts.map((text) => new TextEncoder().encode(text))

function splitsOf({ frames, bytes }: Recording): [name: string, chunks: Uint8Array[]][] {
  const random = Array.from({ length: sized(50) }, (_, seed): [string, Uint8Array[]] => {
    const next = seeded(seed + 1)
    const most = 1 + next() * 2000
    return [`random ${seed + 1}`, everyBytes(bytes, () => 1 + Math.floor(next() * most))]
  })
  return [
    ['per event', encode(frames)],
    ['per line', encode(frames.flatMap((frame) => frame.split(/(?<=\n)/)))],
    ['1 byte', everyBytes(bytes, () => 1)],
    ['7 bytes', everyBytes(bytes, () => 7)],
    ...random,
  ]
}

function serving(chunks: readonly Uint8Array[]): Fetch {
  let at = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks[at++]
      if (chunk) controller.enqueue(chunk)
      else controller.close()
    },
  })
  return async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

const { signal } = new AbortController()
const request = { messages: [{ role: 'user', content: 'hi' }], tools, settings: {} } as const

const play = ({ wire }: Recording, chunks: readonly Uint8Array[]) =>
  drain(modelOf(wire, { fetch: serving(chunks) }).stream(request, { signal }))

const whole = (recording: Recording) => play(recording, [recording.bytes])

async function only(name: string): Promise<ModelEvent[]> {
  const [recording, ...more] = recordingsOf(name)
  if (!recording || more.length > 0) throw new Error(`${name} is not one answer`)
  return (await whole(recording)).events
}

const failing = 'openai-responses/openai-error.1'

describe('reading a recording yields its text, calls, reasoning, finish and usage', () => {
  recorded.each(names.filter((name) => name !== failing))('%s', async (name) => {
    for (const recording of recordingsOf(name)) {
      const { events, error } = await whole(recording)
      expect(error).toBeUndefined()
      expect(summarize(events)).toStrictEqual(expectedSummary(recording))
      expect(events.filter(({ type }) => type === 'done')).toHaveLength(1)
      expect(events.at(-1)?.type).toBe('done')
      for (const event of events) {
        if (event.type === 'text' || event.type === 'reasoning') expect(event.text).not.toBe('')
        if (event.type === 'tool-input') expect(event.delta).not.toBe('')
      }
    }
  })

  recorded(failing, async () => {
    for (const recording of recordingsOf(failing)) {
      const { events, error } = await whole(recording)
      expect(events).toStrictEqual([])
      expect(error).toMatchObject({ code: 'rate_limit', retryable: false })
      expect(error?.message).toContain('You exceeded your current quota')
    }
  })

  recorded.each(names)('the argument deltas of each call add up to its arguments: %s', async (name) => {
    for (const recording of recordingsOf(name)) {
      const { events } = await whole(recording)
      for (const call of events.filter((event) => event.type === 'tool-call')) {
        const own = events.filter((event) => 'callId' in event && event.callId === call.callId)
        expect(own[0]).toMatchObject({ type: 'tool-input-start', name: call.name })
        expect(own.at(-1)).toBe(call)
        const written = own.map((event) => (event.type === 'tool-input' ? event.delta : '')).join('')
        expect(JSON.parse(written || '{}')).toStrictEqual(call.input)
      }
    }
  })
})

/** Adds a number to each frame, so that no two are similar. */
function numbered({ bytes }: Recording): Uint8Array {
  let count = 0
  const text = new TextDecoder().decode(bytes).replace(/^data: ?\{(?=")/gm, () => `data: {"_":${count++},`)
  return new TextEncoder().encode(text)
}

describe('a similar frame is read as if it were parsed', () => {
  recorded.each(names)('%s', async (name) => {
    for (const recording of recordingsOf(name)) {
      const { events } = await whole(recording)
      const alone = await play(recording, [numbered(recording)])
      expect(alone.events).toStrictEqual(events)
    }
  })
})

describe('a recording yields the same events however it is split', () => {
  recorded.each(names)('%s', async (name) => {
    for (const recording of recordingsOf(name)) {
      const expected = await whole(recording)
      for (const [split, chunks] of splitsOf(recording)) {
        const { events, error } = await play(recording, chunks)
        expect(JSON.stringify(events), split).toBe(JSON.stringify(expected.events))
        expect(error?.toJSON(), split).toStrictEqual(expected.error?.toJSON())
      }
    }
  })

  const overSockets = [
    'anthropic/anthropic-json-tool.2',
    'openai-chat/mistral-incremental-tool-call',
    'openai-responses/openai-local-shell-tool.1',
    failing,
  ]
  recorded.each(overSockets)('over a socket too: %s', async (name) => {
    for (const recording of recordingsOf(name)) {
      const expected = await whole(recording)
      for (const [split, chunks] of splitsOf(recording).slice(0, 4)) {
        const server = createServer(async (_, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          for (const chunk of chunks) await new Promise((resolve) => response.write(chunk, resolve))
          response.end()
        })
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
        const { port } = server.address() as AddressInfo
        const model = modelOf(recording.wire, { baseURL: `http://127.0.0.1:${port}/v1` })
        const { events, error } = await drain(model.stream(request, { signal }))
        expect(events, split).toStrictEqual(expected.events)
        expect(error?.toJSON(), split).toStrictEqual(expected.error?.toJSON())
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    }
  })
})

interface Cut {
  readonly events: readonly ModelEvent[]
  readonly ended: boolean
  readonly error: unknown
}

/** An answer that ends cleanly after these bytes. */
function readCut({ wire }: Recording, bytes: Uint8Array): Cut {
  const events: ModelEvent[] = []
  const reader = readerOf(wire, events)
  const sse = sseReader((data, event) => {
    if (!reader.ended) reader.read(data, event)
  })
  let error: unknown
  try {
    sse.push(bytes)
    if (!reader.ended) sse.end()
  } catch (thrown) {
    error = thrown
  }
  if (!reader.ended) reader.end()
  return { events, ended: reader.ended, error }
}

/** Where the data of each frame is complete, without the blank line after it. */
function endsOf({ frames }: Recording): number[] {
  let at = 0
  return frames.map((frame) => {
    at += Buffer.byteLength(frame)
    return at - 2
  })
}

const longest = 12_000

/**
 * Every position to cut an answer at; for a long one, all positions around the ends of frames, and
 * some within.
 */
function placesIn(recording: Recording): number[] {
  const { length } = recording.bytes
  if (length <= longest) return Array.from({ length: length + 1 }, (_, at) => at)
  const next = seeded(length)
  return endsOf(recording).flatMap((end, at, ends) => {
    const start = at === 0 ? 0 : (ends[at - 1] ?? 0) + 2
    return [end - 1, end, end + 1, end + 2, start + Math.floor(next() * (end - start))]
  })
}

/**
 * The problem with an answer that was cut off, if any. Uses plain comparisons, since it runs for
 * every byte.
 */
function problemWith(
  name: string,
  { events, ended, error }: Cut,
  complete: boolean,
  all: Summary,
): string | undefined {
  const { calls, text, reasoning, finish } = summarize(events)
  if (JSON.stringify(calls) !== JSON.stringify(all.calls.slice(0, calls.length))) return 'a wrong call'
  if (!all.text.startsWith(text) || !all.reasoning.startsWith(reasoning)) return 'wrong words'
  if (ended !== complete || finish !== (complete ? all.finish : undefined)) return 'a wrong end'
  if (ended || error === undefined) return undefined
  return isBroken(error) || name === failing ? undefined : `a wrong error: ${error}`
}

const isBroken = (error: unknown) => isMillraceError(error) && error.code === 'stream_error'

describe('a recording that is cut off never yields a wrong call or a false end', () => {
  // Nearly every cut throws, and capturing stack traces is slow.
  const { stackTraceLimit } = Error
  beforeEach(() => {
    Error.stackTraceLimit = 0
  })
  afterEach(() => {
    Error.stackTraceLimit = stackTraceLimit
  })

  recorded.each(names)('%s', (name) => {
    for (const recording of recordingsOf(name)) {
      const all = summarize(readCut(recording, recording.bytes).events)
      const completeAt = endsOf(recording)[terminalOf(recording)] ?? Number.POSITIVE_INFINITY
      for (const place of some(placesIn(recording))) {
        const cut = readCut(recording, recording.bytes.subarray(0, place))
        const flaw = problemWith(name, cut, place >= completeAt, all)
        if (flaw) expect.fail(`cut after byte ${place}: ${flaw}`)
      }
    }
  })

  recorded.each(names)('a long recording too, at every byte: %s', (name) => {
    for (const recording of recordingsOf(name)) {
      if (recording.bytes.length <= longest) continue
      // A partial frame must not be read as a whole one: the same reader then continues with the
      // full frame.
      const events: ModelEvent[] = []
      const reader = readerOf(recording.wire, events)
      for (const frame of encode(recording.frames)) {
        const before = events.length
        for (let at = 0; at < frame.length - 2 && !reader.ended; at += stride) {
          const part = sseReader((data, event) => reader.read(data, event))
          try {
            part.push(frame.subarray(0, at))
            part.end()
          } catch (error) {
            if (!isBroken(error)) expect.fail(`${at} bytes of a frame are a wrong error: ${error}`)
          }
          if (events.length !== before || reader.ended) expect.fail(`${at} bytes of a frame were understood`)
        }
        const sse = sseReader((data, event) => {
          if (!reader.ended) reader.read(data, event)
        })
        sse.push(frame)
      }
      expect(events).toStrictEqual(readCut(recording, recording.bytes).events)
    }
  })

  recorded.each(names)('it fails as an incomplete stream: %s', async (name) => {
    for (const recording of recordingsOf(name)) {
      const next = seeded(recording.bytes.length)
      const completeAt = endsOf(recording)[terminalOf(recording)] ?? recording.bytes.length
      for (let round = 0; round < 20; round++) {
        const bytes = recording.bytes.subarray(0, Math.floor(next() * completeAt))
        const { events, error } = await play(
          recording,
          everyBytes(bytes, () => 1 + Math.floor(next() * 500)),
        )
        expect(events).toStrictEqual(readCut(recording, bytes).events)
        if (name !== failing) expect(error).toMatchObject({ code: 'stream_error', retryable: true })
        else expect(['stream_error', 'rate_limit']).toContain(error?.code)
      }
    }
  })
})

describe('details of recordings', () => {
  const callsOf = (events: readonly ModelEvent[]) =>
    events.filter((event) => event.type === 'tool-call').map(({ name, input }) => [name, input])
  const partEnds = (events: readonly ModelEvent[]) => events.filter((event) => event.type === 'part-end')
  const providerTools = (events: readonly ModelEvent[]) =>
    events.filter((event) => event.type === 'provider-tool')
  const doneOf = (events: readonly ModelEvent[]) => events.find((event) => event.type === 'done')

  recorded('DeepSeek reasons, then calls', async () => {
    const events = await only('openai-chat/deepseek-tool-call')
    expect(callsOf(events)).toStrictEqual([['weather', { location: 'San Francisco' }]])
    expect(doneOf(events)?.usage).toStrictEqual({
      inputTokens: 339,
      outputTokens: 83,
      reasoningTokens: 39,
      cacheReadTokens: 320,
    })
    const [end] = partEnds(events)
    expect(end).toMatchObject({ part: 'reasoning', opaque: { data: { field: 'reasoning_content' } } })
    // The reasoning ends before the call starts.
    const types = events.map(({ type }) => type)
    expect(types.indexOf('part-end')).toBeLessThan(types.indexOf('tool-input-start'))
  })

  recorded('empty ids and names, missing arguments and an immediate object make normal calls', async () => {
    expect(callsOf(await only('openai-chat/alibaba-tool-call'))).toStrictEqual([
      ['weather', { location: 'San Francisco' }],
    ])
    expect(callsOf(await only('openai-chat/mistral-incremental-tool-call'))).toStrictEqual([
      ['webSearchTool', { query: 'current Berlin weather' }],
    ])
    expect(callsOf(await only('openai-chat/groq-tool-call'))).toStrictEqual([['weather', {}]])
    expect(callsOf(await only('anthropic/anthropic-tool-no-args'))).toStrictEqual([['updateIssueList', {}]])
  })

  recorded('xAI counts reasoning separately from the completion', async () => {
    const { usage } = doneOf(await only('openai-chat/xai-tool-call')) ?? {}
    expect(usage).toMatchObject({ inputTokens: 307, outputTokens: 253, reasoningTokens: 227 })
  })

  recorded('a local shell call is a call to the tool shell, and is sent back unchanged', async () => {
    const events = await only('openai-responses/openai-local-shell-tool.1')
    expect(callsOf(events)).toStrictEqual([['shell', { command: ['ls', '-a', '~'], env: {} }]])
    const call = events.find((event) => event.type === 'tool-call')
    expect(call?.opaque).toMatchObject({
      provider: 'recorded',
      data: { type: 'local_shell_call', call_id: 'call_h3nm8hUG0KO9tVNuRACkL1ri' },
    })
  })

  recorded('an approval request of the provider is a call to the tool mcp_approval', async () => {
    const events = await only('openai-responses/openai-mcp-tool-approval.1')
    const [[name, input] = [], ...more] = callsOf(events)
    expect(more).toStrictEqual([])
    expect(name).toBe('mcp_approval')
    expect(input).toMatchObject({
      server: 'zip1',
      tool: 'create_short_url',
      arguments: { url: 'https://ai-sdk.dev/', max_clicks: 100 },
    })
    const all = providerTools(events)
    expect(new Set(all.map((event) => event.name))).toStrictEqual(new Set(['mcp_list_tools']))
    expect(JSON.stringify(all.at(-1)?.output)).toContain('Create a shortened URL using zip1.io')
  })

  recorded('encrypted reasoning is kept', async () => {
    const [recording] = recordingsOf('openai-responses/openai-reasoning-encrypted-content.1')
    if (!recording) throw new Error('nothing recorded')
    const item = recording.lines.find(
      ({ type, item: one }) => type === 'response.output_item.done' && Object(one).type === 'reasoning',
    )?.item
    expect(Object(item).encrypted_content.length).toBeGreaterThan(100)
    expect(partEnds((await whole(recording)).events)[0]?.opaque?.data).toStrictEqual(item)
  })

  recorded('an item whose id changes with every event is one item', async () => {
    const events = await only('openai-responses/github-copilot-id-rotation.1')
    expect(summarize(events).text).toMatch(/^There are \*\*3\*\* letter .*positions \*\*3, 8, and 9\*\*\.$/s)
    expect(partEnds(events).map(({ part }) => part)).toStrictEqual(['reasoning', 'text'])
    expect(partEnds(events)[1]?.opaque?.data).toStrictEqual({ phase: 'final_answer' })
  })

  recorded('thinking keeps its signature', async () => {
    const [end] = partEnds(await only('anthropic/anthropic-clear-thinking.1'))
    expect(end).toMatchObject({
      part: 'reasoning',
      opaque: { provider: 'recorded', data: { type: 'thinking' } },
    })
    expect(JSON.stringify(end?.opaque?.data)).toContain(
      'EvQBCkYICxgCKkAxhD4NUKFzudtZ6NzbZdEiBACIScTzqjPViM596iWLZIk4EFKYYBj3',
    )
  })

  recorded('a web search is emitted with its query and results, and the text with its sources', async () => {
    const events = await only('anthropic/anthropic-web-search-tool.1')
    const all = providerTools(events)
    expect(new Set(all.map(({ callId }) => callId))).toStrictEqual(
      new Set(['srvtoolu_01Bj5uzzLcYG5hfueSLcDH8k']),
    )
    expect(all.every(({ name }) => name === 'web_search')).toBe(true)
    expect(all.find(({ input }) => input !== undefined)?.input).toHaveProperty('query')
    const found = all.find(({ output }) => output !== undefined)
    expect(JSON.stringify(found?.output)).toContain('The Latest AI News and AI Breakthroughs')
    expect(JSON.stringify(found?.opaque?.data)).toContain('encrypted_content')
    const cited = partEnds(events).filter(({ opaque }) => opaque !== undefined)
    expect(cited).toHaveLength(9)
    for (const { part, opaque } of cited) {
      expect(part).toBe('text')
      expect(JSON.stringify(opaque?.data)).toContain('web_search_result_location')
    }
    expect(callsOf(events)).toStrictEqual([])
  })

  recorded('tools that ran in a sandbox or over MCP are not tool calls', async () => {
    const sandbox = await only('anthropic/anthropic-code-execution-20250825.1')
    expect(new Set(providerTools(sandbox).map(({ name }) => name))).toStrictEqual(
      new Set(['text_editor_code_execution', 'bash_code_execution']),
    )
    expect(JSON.stringify(providerTools(sandbox))).toContain('The 10th Fibonacci number is: 34')
    const mcp = await only('anthropic/anthropic-mcp.1')
    const [, asked, answered] = providerTools(mcp)
    expect(asked).toMatchObject({ name: 'echo', input: { message: 'hello world' } })
    expect(answered).toMatchObject({
      callId: asked?.callId,
      output: [{ type: 'text', text: 'Tool echo: hello world' }],
    })
    expect([...callsOf(sandbox), ...callsOf(mcp)]).toStrictEqual([])
  })

  recorded('a refusal has its details', async () => {
    const done = doneOf(await only('anthropic/anthropic-refusal'))
    expect(done).toMatchObject({ finish: 'refusal', metadata: { stopDetails: { category: 'cyber' } } })
  })

  recorded('a message that starts twice is one message', async () => {
    const events = await only('anthropic/duplicate-message-start')
    expect(summarize(events)).toMatchObject({
      text: 'Hello, World!',
      usage: { inputTokens: 17, outputTokens: 227 },
    })
  })
})
