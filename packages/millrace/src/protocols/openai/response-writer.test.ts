import fc from 'fast-check'
import type OpenAI from 'openai'
import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { joinEntries } from '../../log/entries.ts'
import { names, present, recordingsOf } from '../../models/recordings.test-kit.ts'
import type { Entry, ThreadEvent } from '../../protocol/index.ts'
import { noUsage, PROTOCOL_VERSION } from '../../protocol/index.ts'
import { answerFold } from '../model-api/index.ts'
import type { ResponseObject } from './response-object.ts'
import { framesPerEntry, responseWriter } from './response-writer.ts'
import type { StreamEvent } from './responses.test-kit.ts'
import { joinDeltas } from './responses.test-kit.ts'

const text = (text: string): ThreadEvent => ({ type: 'text', text })
const reasoning = (text: string): ThreadEvent => ({ type: 'reasoning', text })
const startCall = (callId: string, name: string, wants?: 'result'): ThreadEvent => ({
  type: 'tool-input-start',
  callId,
  name,
  ...(wants && { wants }),
})
const grow = (callId: string, delta: string): ThreadEvent => ({ type: 'tool-input', callId, delta })
const called = (callId: string, name: string, wants?: 'result'): ThreadEvent => ({
  type: 'tool-call',
  callId,
  name,
  input: { at: 'x' },
  ...(wants && { wants }),
})
const result = (callId: string, name: string, isError = false): ThreadEvent => ({
  type: 'tool-result',
  callId,
  name,
  output: [{ type: 'text', text: `${name} it` }],
  status: isError ? 'failed' : 'ok',
  isError,
  ms: 1,
  overlapMs: 0,
})
const startRound = (round: number): ThreadEvent => ({ type: 'round-start', round, model: 'm' })
const endRound = (round: number): ThreadEvent => ({
  type: 'round-end',
  round,
  model: 'm',
  finish: 'tool-calls',
  usage: { inputTokens: 5, outputTokens: 3 },
})

/** Everything that can happen: parts without an end, parallel calls, a retract, results during text. */
const events: readonly ThreadEvent[] = [
  { type: 'input', message: { role: 'user', content: 'Work.' }, mode: 'queue' },
  { type: 'run-start', version: PROTOCOL_VERSION, runId: 'run_1', agent: 'worker', input: [], inputs: [1] },
  startRound(1),
  reasoning('I '),
  reasoning('lo'),
  text('The '),
  text('whe'),
  startCall('a', 'look'),
  grow('a', '{"at'),
  { type: 'round-retract', round: 1, reason: 'cut' },
  {
    type: 'round-retry',
    round: 1,
    attempt: 2,
    model: 'm',
    delayMs: 0,
    error: { op: 'm', code: 'stream_error', message: 'cut', retryable: true },
  },
  reasoning('I '),
  reasoning('look.'),
  { type: 'part-end', part: 'reasoning' },
  startCall('a', 'look'),
  startCall('b', 'weigh'),
  grow('a', '{"at'),
  grow('a', '":"x'),
  grow('b', '{"at":'),
  grow('a', '"}'),
  called('a', 'look'),
  { type: 'tool-start', callId: 'a', name: 'look', attempt: 1 },
  grow('b', '"x"}'),
  called('b', 'weigh'),
  text('Let '),
  text('me '),
  result('a', 'look'),
  text('wo'),
  text('rk.'),
  result('b', 'weigh', true),
  endRound(1),
  startRound(2),
  text('Now '),
  text('you.'),
  startCall('c', 'pick', 'result'),
  grow('c', '{"at":'),
  grow('c', '"x"}'),
  called('c', 'pick', 'result'),
  { type: 'approval-request', callId: 'c', name: 'pick', input: { at: 'x' }, wants: 'result' },
  endRound(2),
  { type: 'run-end', outcome: 'suspended', finish: 'tool-calls', usage: noUsage },
]

const log: readonly Entry[] = events.map((event, index) => ({ seq: index + 1, at: 5000 + index, event }))

function write(entries: readonly Entry[], startingAfter?: number): StreamEvent[] {
  const options = { id: 'resp_t_1', place: { threadId: 't', start: 1 }, agent: 'worker', request: undefined }
  const fold = answerFold({ start: 1 }, responseWriter({ ...options, startingAfter }))
  const frames = entries.map(fold.entry).join('').split('\n\n').filter(Boolean)
  return frames.map((frame) => {
    const [, type, data] = /^event: (.+)\ndata: (.+)$/.exec(frame) ?? []
    const event = JSON.parse(data ?? '') as StreamEvent
    expect(event.type).toBe(type)
    return event
  })
}

const whole = write(log)

test('the SDK accepts the events, and builds the response that the last one has', async () => {
  const lines = whole.map((event) => `${JSON.stringify(event)}\n`).join('')
  const built = await ResponseStream.fromReadableStream(new Blob([lines]).stream()).finalResponse()
  const last = whole.at(-1)
  if (last?.type !== 'response.completed') throw new Error(`the last event is ${last?.type}`)
  expect(built.output).toMatchObject(last.response.output)
  expect(last.response.output).toMatchObject([
    { type: 'reasoning', summary: [{ text: 'I look.' }] },
    { type: 'mcp_call', status: 'completed', arguments: '{"at":"x"}', output: 'look it', error: null },
    {
      type: 'mcp_call',
      status: 'failed',
      output: null,
      error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'weigh it' }] },
    },
    { type: 'message', content: [{ text: 'Let me work.' }] },
    { type: 'message', content: [{ text: 'Now you.' }] },
    { type: 'function_call', call_id: 'c', arguments: '{"at":"x"}' },
  ])
  expect(last.response).toMatchObject({ created_at: 5, completed_at: 5, usage: { total_tokens: 16 } })
})

test('what was open when its round was retracted is closed as incomplete', () => {
  const closed = whole.flatMap((event) =>
    event.type === 'response.output_item.done' && 'status' in event.item ? [event.item] : [],
  )
  expect(closed.filter(({ status }) => status === 'incomplete')).toMatchObject([
    { type: 'mcp_call', arguments: '{"at' },
  ])
})

test('the numbers of events grow', () => {
  const numbers = whole.map(({ sequence_number }) => sequence_number)
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
})

test('a reader gets the same events however deltas are joined, and after any of them', () => {
  const groups = fc.array(fc.boolean(), { minLength: log.length, maxLength: log.length })
  /** Joins adjacent entries where `isJoined` says so. */
  function regroup(entries: readonly Entry[], isJoined: readonly boolean[]): Entry[] {
    const runs: Entry[][] = []
    for (const entry of entries) {
      const run = runs.at(-1)
      if (run && isJoined[entry.seq - 1]) run.push(entry)
      else runs.push([entry])
    }
    return runs.flatMap(joinEntries)
  }
  fc.assert(
    fc.property(groups, groups, fc.nat(1000), (first, second, cut) => {
      const seen = write(regroup(log, first))
      const before = seen.slice(0, (cut % seen.length) + 1)
      const after = before.at(-1)?.sequence_number ?? 0
      // The log is read as it was first written up to the entry of the last event.
      const upTo = Math.floor(after / framesPerEntry)
      const rest = [...log.slice(0, upTo), ...regroup(log.slice(upTo), second)]
      expect(joinDeltas([...before, ...write(rest, after)])).toEqual(joinDeltas(whole))
    }),
  )
})

test('an entry with more frames than numbers keeps the numbers in order', () => {
  const many = Array.from({ length: 40 }, (_, index) => startCall(`c${index}`, 'look'))
  const entries = [...events.slice(0, 3), ...many, ...events.slice(9, 10)].map((event, index) => ({
    seq: index + 1,
    at: 0,
    event,
  }))
  const numbers = write(entries).map(({ sequence_number }) => sequence_number)
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  expect(Math.floor((numbers.at(-1) ?? 0) / framesPerEntry)).toBe(entries.length)
})

describe('how a run ends', () => {
  const start = events.slice(0, 3)
  const ending = (event: Partial<ThreadEvent>) =>
    write(
      [...start, text('Hm.'), { type: 'run-end', usage: noUsage, ...event } as ThreadEvent].map(
        (event, index) => ({ seq: index + 1, at: 0, event }),
      ),
    ).at(-1)

  test.each([
    [{ outcome: 'truncated', finish: 'length' }, 'incomplete', 'incomplete', 'max_output_tokens'],
    [{ outcome: 'max-rounds' }, 'incomplete', 'incomplete', 'max_messages'],
    [{ outcome: 'budget' }, 'incomplete', 'incomplete', 'max_messages'],
    [{ outcome: 'completed', finish: 'content-filter' }, 'incomplete', 'incomplete', 'content_filter'],
    [{ outcome: 'canceled' }, 'incomplete', 'cancelled', undefined],
    [{ outcome: 'completed', finish: 'stop' }, 'completed', 'completed', undefined],
  ] as const)('%j', (event, type, status, reason) => {
    const details = reason === undefined ? null : { reason }
    expect(ending(event as Partial<ThreadEvent>)).toMatchObject({
      type: `response.${type}`,
      response: { status, incomplete_details: details, error: null },
    })
  })

  test('a failure has a code that clients know', () => {
    const error = { op: 'model', code: 'context_overflow', message: 'too long', retryable: false } as const
    expect(ending({ outcome: 'failed', error } as Partial<ThreadEvent>)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'context_length_exceeded', message: 'too long' } },
    })
  })
})

test('a response has every field of the type in the SDK that can be null, and one more', () => {
  type Theirs = keyof OpenAI.Responses.Response
  type Left = Exclude<Theirs, keyof ResponseObject>
  // The SDK adds the first. The others describe what this server does not do, and cannot be null.
  const left = [
    'output_text',
    'image',
    'prompt_cache_diagnostics',
    'prompt_cache_options',
    'tool_usage',
  ] as const
  expectTypeOf<Left>().toEqualTypeOf<(typeof left)[number]>()
  // OpenAI sends it too: see the recordings.
  expectTypeOf<Exclude<keyof ResponseObject, Theirs>>().toEqualTypeOf<'store'>()
  const last = whole.at(-1)
  const response = last?.type === 'response.completed' ? last.response : {}
  for (const field of left) expect(response).not.toHaveProperty(field)
  expect(response).toHaveProperty('store', true)
})

describe.skipIf(!present)('recorded streams', () => {
  /** The fields of each type of event and item, except padding against eavesdroppers. */
  function shapesOf(written: readonly object[]) {
    const shapes = new Map<string, Set<string>>()
    const add = (name: string, value: object) => {
      const fields = shapes.get(name) ?? new Set()
      for (const field of Object.keys(value)) if (field !== 'obfuscation') fields.add(field)
      shapes.set(name, fields)
    }
    for (const event of written as Record<string, object>[]) {
      add(String(event.type), event)
      if (event.item) add(`item ${(event.item as { type?: string }).type}`, event.item)
      if (event.part) add(`part ${(event.part as { type?: string }).type}`, event.part)
      if (event.response) add('response', event.response)
    }
    return shapes
  }

  test('have the same fields', async () => {
    const own = shapesOf(whole)
    const ours = names.filter((name) => /openai-(responses.*openai-|.*reasoning|.*mcp)/.test(name))
    const recorded = shapesOf(
      (await Promise.all(ours.map((name) => recordingsOf(name)))).flat().flatMap(({ lines }) => lines),
    )
    // Newer than the recordings, and in the types of the SDK.
    const newer = new Set(['access_programs', 'conversation', 'moderation', 'prompt'])
    const compared = [...own].filter(([name]) => recorded.has(name))
    expect(compared.length).toBeGreaterThan(8)
    for (const [name, fields] of compared) {
      const expected = [...(recorded.get(name) as Set<string>)].filter(
        (field) => field !== 'encrypted_content',
      )
      const known = [...fields].filter((field) => !(name === 'response' && newer.has(field)))
      expect({ name, fields: known.toSorted() }).toEqual({ name, fields: expected.toSorted() })
    }
  })
})
