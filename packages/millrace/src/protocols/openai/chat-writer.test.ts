import { expect, test } from 'vitest'
import { names, present, recordingsOf } from '../../models/recordings.test-kit.ts'
import type { ApprovalRequestEvent } from '../../protocol/index.ts'
import { noUsage } from '../../protocol/index.ts'
import type { AnswerCall, AnswerEnd, AnswerWriter } from '../model-api/index.ts'
import { chatChunks, chatCompletion } from './chat-writer.ts'

const at = 1_700_000_000_500
const options = { id: 'chatcmpl_t_1', model: 'miller' }

/** Writes an answer in both ways: the text of the chunks, and the whole. */
function written(
  write: (writer: AnswerWriter) => string,
  more: { withUsage?: boolean; isJson?: boolean } = {},
) {
  const { withUsage = false, isJson = false } = more
  const chunks = chatChunks({ ...options, withUsage })
  const text = chunks.start(1, at) + write(chunks)
  const whole = chatCompletion({ ...options, isJson })
  whole.start(1, at)
  write(whole)
  const frames = text.split('\n\n').filter(Boolean)
  const data = frames.map((frame) => frame.replace(/^data: /, ''))
  return {
    isDone: data.at(-1) === '[DONE]',
    chunks: data.filter((line) => line !== '[DONE]').map((line) => JSON.parse(line)),
    result: () => whole.result() as { choices: { message: object; finish_reason: string }[]; usage: object },
  }
}

const end = (more: Partial<AnswerEnd> = {}): AnswerEnd => ({
  outcome: 'completed',
  finish: 'stop',
  error: undefined,
  usage: noUsage,
  waiting: [],
  approvals: [],
  ...more,
})

const call = (callId: string, more: Partial<AnswerCall> = {}): AnswerCall => ({
  callId,
  name: 'pick',
  isClient: true,
  seq: 3,
  arguments: '',
  ...more,
})

const waitsFor = (callId: string): ApprovalRequestEvent => ({
  type: 'approval-request',
  callId,
  name: 'pick',
  input: { of: 'sky' },
  wants: 'result',
})

/** A call of the client's tool, whose arguments arrive in two parts. */
function writeCall(writer: AnswerWriter, callId: string) {
  const called = call(callId)
  let frames = writer.callStart(called, 3)
  for (const delta of ['{"of":', '"sky"}']) {
    called.arguments += delta
    frames += writer.callDelta(called, delta, 4)
  }
  return frames + writer.callComplete(called, 5)
}

const deltasOf = (chunks: readonly { choices: { delta: Record<string, unknown> }[] }[], key: string) =>
  chunks.flatMap(({ choices }) => choices[0]?.delta[key] || [])

test.skipIf(!present)('chunks have the fields of a recorded stream, and no others', async () => {
  const name = names.find((name) => name.endsWith('openai-text')) as string
  const lines = (await recordingsOf(name))[0]?.lines ?? []
  const { chunks } = written(
    (writer) => writer.roundStart(2) + writer.delta('text', 'Hi', 3) + writer.end(end(), 4),
    { withUsage: true },
  )
  expect(chunks).toHaveLength(4)
  // Padding against eavesdroppers, which clients can turn off.
  const keysOf = ({ obfuscation: _, ...line }: Record<string, unknown>) => shapeOf(line)
  const recorded = [lines[0], lines[1], lines.at(-2), lines.at(-1)].map((line) => keysOf(line ?? {}))
  expect(chunks.map(keysOf)).toEqual(recorded)
})

/** The names of all fields. `cache_write_tokens` is newer than the recordings. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return 'value'
  const fields = Object.entries(value).filter(([key]) => key !== 'cache_write_tokens')
  return Object.fromEntries(fields.map(([key, field]) => [key, shapeOf(field)]))
}

test('text, reasoning and usage arrive in both formats', () => {
  const usage = {
    inputTokens: 10,
    outputTokens: 7,
    reasoningTokens: 3,
    cacheReadTokens: 4,
    cacheWriteTokens: 2,
  }
  const { chunks, isDone, result } = written(
    (writer) =>
      writer.roundStart(2) +
      writer.delta('reasoning', 'Hm', 3) +
      writer.delta('reasoning', '.', 3) +
      writer.closePart('reasoning', 4) +
      writer.delta('text', 'Say "', 5) +
      writer.delta('text', 'hi"\n', 6) +
      writer.closePart('text', 7) +
      writer.end(end({ usage }), 8),
    { withUsage: true },
  )
  expect(deltasOf(chunks, 'reasoning_content').join('')).toBe('Hm.')
  expect(deltasOf(chunks, 'content').join('')).toBe('Say "hi"\n')
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 10, total_tokens: 17 } })
  expect(isDone).toBe(true)
  expect(result()).toEqual({
    id: 'chatcmpl_t_1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'miller',
    service_tier: 'default',
    system_fingerprint: null,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Say "hi"\n',
          refusal: null,
          annotations: [],
          reasoning_content: 'Hm.',
        },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: 10,
      completion_tokens: 7,
      total_tokens: 17,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 3,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
  })
})

test('without include_usage there is no usage in the stream', () => {
  const { chunks } = written((writer) => writer.end(end(), 2))
  expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true)
})

test("the client's calls have an index, and the server's are not shown", () => {
  const { chunks, result } = written((writer) => {
    const own = call('call_s', { name: 'search', isClient: false })
    const frames = writer.roundStart(2) + writer.callStart(own, 3) + writer.callDelta(own, '{}', 3)
    const calls = writeCall(writer, 'call_1') + writeCall(writer, 'call_2')
    const waiting = [waitsFor('call_1'), waitsFor('call_2')]
    return frames + calls + writer.callResult(own, 9) + writer.end(end({ outcome: 'suspended', waiting }), 9)
  })
  expect(deltasOf(chunks, 'tool_calls').flat()).toEqual([
    { index: 0, id: 'call_1', type: 'function', function: { name: 'pick', arguments: '' } },
    { index: 0, function: { arguments: '{"of":' } },
    { index: 0, function: { arguments: '"sky"}' } },
    { index: 1, id: 'call_2', type: 'function', function: { name: 'pick', arguments: '' } },
    { index: 1, function: { arguments: '{"of":' } },
    { index: 1, function: { arguments: '"sky"}' } },
  ])
  expect(chunks.at(-1).choices[0].finish_reason).toBe('tool_calls')
  const called = (id: string) => ({
    id,
    type: 'function',
    function: { name: 'pick', arguments: '{"of":"sky"}' },
  })
  expect(result().choices).toMatchObject([
    {
      finish_reason: 'tool_calls',
      message: { content: null, tool_calls: [called('call_1'), called('call_2')] },
    },
  ])
})

test('the text of a later round is another paragraph', () => {
  const write = (writer: AnswerWriter) =>
    writer.roundStart(2) +
    writer.delta('text', 'I look.', 3) +
    writer.roundStart(4) +
    writer.roundStart(5) +
    writer.delta('text', '{"a":', 6) +
    writer.delta('text', '1}', 7) +
    writer.end(end(), 8)
  const { chunks, result } = written(write)
  expect(deltasOf(chunks, 'content').join('')).toBe('I look.\n\n{"a":1}')
  expect(result().choices).toMatchObject([{ message: { content: 'I look.\n\n{"a":1}' } }])
  expect(written(write, { isJson: true }).result().choices).toMatchObject([
    { message: { content: '{"a":1}' } },
  ])
})

test('text that was retracted is not part of the result', () => {
  const { chunks, result } = written(
    (writer) =>
      writer.roundStart(2) +
      writer.delta('text', 'Once up', 3) +
      writer.retract(4) +
      writer.roundStart(5) +
      writer.delta('text', 'Once upon', 6) +
      writer.end(end(), 7),
  )
  expect(deltasOf(chunks, 'content').join('')).toBe('Once up\n\nOnce upon')
  expect(result().choices).toMatchObject([{ message: { content: 'Once upon' } }])
})

test('a stream whose call was retracted fails, so that the client does not run the call', () => {
  const { chunks, isDone, result } = written(
    (writer) =>
      writer.roundStart(2) +
      writeCall(writer, 'call_1') +
      writer.retract(6) +
      writer.roundStart(7) +
      writer.delta('text', 'Again.', 8) +
      writeCall(writer, 'call_2') +
      writer.end(end({ outcome: 'suspended', waiting: [waitsFor('call_2')] }), 9),
  )
  expect(chunks.at(-1)).toMatchObject({ error: { type: 'server_error' } })
  expect(chunks.filter((chunk) => 'error' in chunk)).toHaveLength(1)
  expect(isDone).toBe(false)
  expect(result().choices).toMatchObject([{ message: { tool_calls: [{ id: 'call_2' }] } }])
})

test('text that is retracted after the call of an earlier round does not end the stream', () => {
  const { isDone } = written(
    (writer) =>
      writer.roundStart(2) +
      writer.callStart(call('call_1'), 3) +
      writer.callVoid(call('call_1'), 4) +
      writer.roundStart(5) +
      writer.delta('text', 'Once', 6) +
      writer.retract(7) +
      writer.roundStart(8) +
      writer.end(end(), 9),
  )
  expect(isDone).toBe(true)
})

test('approvals are asked for in words', () => {
  const request = { ...waitsFor('call_1'), wants: undefined } as unknown as ApprovalRequestEvent
  const { chunks, result } = written(
    (writer) =>
      writer.roundStart(2) +
      writer.delta('text', 'I cut it.', 3) +
      writer.approvalRequest(request, 4) +
      writer.end(end({ outcome: 'suspended', approvals: [request] }), 5),
  )
  const words = deltasOf(chunks, 'content').join('')
  expect(words).toMatch(/^I cut it\.\n\n.*pick.*approve.*deny/s)
  expect(result().choices).toMatchObject([{ finish_reason: 'stop', message: { content: words } }])
})

test.each<[string, Partial<AnswerEnd>]>([
  ['length', { finish: 'length' }],
  ['length', { outcome: 'truncated', finish: 'length' }],
  ['length', { outcome: 'max-rounds', finish: 'tool-calls' }],
  ['length', { outcome: 'budget', finish: 'tool-calls' }],
  ['content_filter', { finish: 'content-filter' }],
  ['stop', { finish: 'other' }],
])('the finish reason is %s for %j', (reason, more) => {
  const { chunks, result } = written((writer) => writer.end(end(more), 2))
  expect(chunks.at(-1).choices[0].finish_reason).toBe(reason)
  expect(result().choices[0]?.finish_reason).toBe(reason)
})

test('a refusal has its own field, unless its text was already streamed as content', () => {
  const refusal = end({ finish: 'refusal' })
  const silent = written((writer) => writer.end(refusal, 2))
  expect(silent.chunks.at(-1).choices[0]).toMatchObject({
    delta: { refusal: expect.stringMatching(/./) },
    finish_reason: 'stop',
  })
  const spoken = written((writer) => writer.delta('text', 'I cannot.', 2) + writer.end(refusal, 3))
  expect(spoken.chunks.at(-1).choices[0]).toMatchObject({ delta: {}, finish_reason: 'content_filter' })
  expect(spoken.result().choices).toMatchObject([
    { finish_reason: 'stop', message: { content: null, refusal: 'I cannot.' } },
  ])
})

test.each(['failed', 'canceled'] as const)('a stream of a run that was %s ends with an error', (outcome) => {
  const error = { op: 'model.stream', code: 'llm_error', message: 'it broke', retryable: false } as const
  const { chunks, isDone, result } = written(
    (writer) => writer.delta('text', 'Once', 2) + writer.end(end({ outcome, error }), 3),
  )
  expect(chunks.at(-1)).toEqual({
    error: { message: 'it broke', type: 'server_error', param: null, code: null },
  })
  expect(isDone).toBe(false)
  if (outcome === 'canceled') expect(result).toThrow('the run was stopped')
})
