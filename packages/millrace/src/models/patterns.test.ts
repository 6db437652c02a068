import fc from 'fast-check'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { sized } from '../../../../test/size.ts'
import type { ModelEvent } from '../protocol/index.ts'
import { readWith } from './wire/reader.test-kit.ts'
import type { WireReader } from './wire/stream.ts'

type Open = (events: ModelEvent[]) => WireReader

/** The readers of the three APIs. */
async function readers(): Promise<Record<'chat' | 'responses' | 'messages', Open>> {
  const { chatReader } = await import('./openai-chat/reader.ts')
  const { responsesReader } = await import('./openai-responses/reader.ts')
  const { anthropicReader } = await import('./anthropic/reader.ts')
  return {
    chat: (events) => chatReader(events, { provider: 'p', tools: new Set(['look']) }),
    responses: (events) => responsesReader(events, { provider: 'p' }),
    messages: (events) => anthropicReader(events, { provider: 'p' }),
  }
}

let usual: Awaited<ReturnType<typeof readers>>
/** The same, parsing every frame. */
let parsing: Awaited<ReturnType<typeof readers>>

beforeAll(async () => {
  // Patterns are used from the first frame on.
  const { framePattern } = await import('./wire/pattern.ts')
  vi.resetModules()
  vi.doMock('./wire/pattern.ts', () => ({ framePattern: () => framePattern(0) }))
  usual = await readers()
  vi.resetModules()
  vi.doMock('./wire/pattern.ts', () => ({
    framePattern: () => ({ read: () => false, isLearning: () => false, learn() {} }),
  }))
  parsing = await readers()
  vi.doUnmock('./wire/pattern.ts')
})

/** JSON in the formats that servers use, and in some that none should use. */
const written = (frame: fc.Arbitrary<unknown>) =>
  fc.tuple(frame, fc.nat(40)).map(([value, way]) => {
    const json = JSON.stringify(value)
    if (way === 0) return json.replaceAll(':', ': ')
    if (way === 1) return json.replace(':', ' : ')
    if (way === 2) return json.replace('"a"', '"\\u0061"')
    if (way === 3) return json.replace(/"(content|text|delta)":("[^"]*")/, '"$1":$2,"$1": $2')
    if (way === 4) return json.slice(0, -1)
    return json
  })

const word = fc.constantFrom('a', 'a', 'b', ' c', '', '"', '\\', '\n', 'é🙂', 'a text that is not short')
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 4 })
const seldom = <T>(value: fc.Arbitrary<T>) => maybe(maybe(maybe(value)))

const choice = fc.record({
  index: maybe(fc.constantFrom(0, 0, 0, 1)),
  delta: fc.oneof(
    { weight: 6, arbitrary: fc.record({ content: word, x: seldom(fc.record({ content: word })) }) },
    { weight: 2, arbitrary: fc.record({ reasoning_content: seldom(word), reasoning: word }) },
    { weight: 1, arbitrary: fc.record({ reasoning_content: word, refusal: seldom(word) }) },
    {
      weight: 1,
      arbitrary: word.map((text) => ({
        reasoning: text,
        reasoning_details: [{ type: 'reasoning.text', text }],
      })),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        content: seldom(word),
        tool_calls: fc.array(
          fc.record({
            index: fc.constantFrom(0, 0, 1),
            id: seldom(fc.constantFrom('c1', 'c2')),
            function: fc.record({ name: seldom(fc.constant('look')), arguments: word }),
          }),
          { minLength: 1, maxLength: 2 },
        ),
      }),
    },
  ),
  message: seldom(fc.record({ content: word })),
  usage: seldom(fc.record({ prompt_tokens: fc.nat(2) })),
  finish_reason: seldom(fc.constantFrom('stop', 'tool_calls')),
})
const chunk = fc.record({
  id: maybe(fc.constantFrom('1', '1', '2')),
  model: maybe(fc.constantFrom('m', 'm', 'n')),
  choices: fc.array(choice, { minLength: 0, maxLength: 1 }),
  usage: seldom(fc.record({ prompt_tokens: fc.nat(2) })),
  obfuscation: maybe(fc.constantFrom('x', 'yy', '')),
})

const responsesEvent = fc.record({
  type: fc.constantFrom(
    'response.output_text.delta',
    'response.output_text.delta',
    'response.reasoning_summary_text.delta',
    'response.function_call_arguments.delta',
    'response.refusal.delta',
    'response.output_text.done',
  ),
  sequence_number: maybe(fc.constantFrom(0, 1, 2, 3, 4, 5, 1.5, -1)),
  output_index: fc.constantFrom(0, 0, 1),
  content_index: fc.constantFrom(0, 0, 1),
  delta: word,
  text: seldom(word),
  obfuscation: maybe(fc.constantFrom('x', 'yy')),
})
const responsesItem = fc.record({
  type: fc.constantFrom('response.output_item.added', 'response.output_item.done'),
  output_index: fc.constantFrom(0, 1),
  item: fc.constantFrom(
    { type: 'message', content: [] },
    { type: 'function_call', call_id: 'c', name: 'look', arguments: '' },
    { type: 'reasoning', summary: [] },
  ),
})

const messagesEvent = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('content_block_delta'),
      index: fc.constantFrom(0, 0, 1),
      delta: fc.oneof(
        word.map((text) => ({ type: 'text_delta', text })),
        word.map((thinking) => ({ type: 'thinking_delta', thinking })),
        word.map((json) => ({ type: 'input_json_delta', partial_json: json })),
        word.map((signature) => ({ type: 'signature_delta', signature })),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('content_block_start'),
      index: fc.constantFrom(0, 1),
      content_block: fc.constantFrom(
        { type: 'text', text: '' },
        { type: 'thinking', thinking: '' },
        { type: 'tool_use', id: 't', name: 'look', input: {} },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('content_block_stop'), index: fc.constantFrom(0, 1) }),
  },
)

/** Each frame up to three times in a row, so that patterns are used. */
const sequence = (frame: fc.Arbitrary<unknown>) =>
  fc
    .array(fc.tuple(written(frame), fc.integer({ min: 1, max: 3 })), { maxLength: 20 })
    .map((list) => list.flatMap(([data, times]) => Array<string>(times).fill(data)))

const wires = [
  ['chat', sequence(chunk), ['{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', '[DONE]']],
  ['responses', sequence(fc.oneof({ weight: 5, arbitrary: responsesEvent }, responsesItem)), []],
  ['messages', sequence(messagesEvent), ['{"type":"message_stop"}']],
] as const

describe('similar frames are read as if each were parsed', () => {
  test.each(wires)('%s', (wire, frames, end) => {
    fc.assert(
      fc.property(frames, (list) => {
        const all = [...list, ...end]
        const result = readWith(usual[wire], all)
        const alone = readWith(parsing[wire], all)
        expect(result.events).toStrictEqual(alone.events)
        expect(String(result.error)).toBe(String(alone.error))
      }),
      { numRuns: sized(400) },
    )
  })
})
