import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Message, ModelRequest } from '../protocol/index.ts'
import { contextUse, estimateInput, estimateOutput, sizeOfRequest } from './context-size.ts'

const user = (content: string): Message => ({ role: 'user', content })
const assistant = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const result = (text: string): Message => ({
  role: 'tool',
  callId: 'call_1',
  name: 'look',
  content: [{ type: 'text', text }],
})
const request = (messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages,
  tools: [],
  settings: {},
  ...more,
})

describe('the size of a request', () => {
  test('is divided into system prompt, tools, history and results, at four characters per token', () => {
    const inputSchema = { type: 'object', properties: {} }
    const size = sizeOfRequest(
      request(
        [
          { role: 'system', content: 's'.repeat(40) },
          user('u'.repeat(80)),
          assistant('a'.repeat(20)),
          result('r'.repeat(400)),
          { role: 'system', content: 's'.repeat(8) },
        ],
        { tools: [{ name: 'look', description: 'd'.repeat(100), inputSchema }] },
      ),
    )
    expect(size).toEqual({
      system: 12,
      tools: Math.ceil((104 + JSON.stringify(inputSchema).length) / 4),
      history: 25,
      results: 100,
    })
  })

  test('includes the schema of the answer in the system prompt', () => {
    const output = { type: 'object', description: 'x'.repeat(400) }
    expect(sizeOfRequest(request([], { output })).system).toBeGreaterThan(100)
  })

  test('counts images as a constant, and text files by their length', () => {
    const data = 'A'.repeat(40_000)
    const historyWith = (part: object) =>
      sizeOfRequest(request([{ role: 'user', content: [part] } as unknown as Message])).history
    expect(historyWith({ type: 'image', data, mediaType: 'image/png' })).toBe(1000)
    expect(historyWith({ type: 'file', data, mediaType: 'application/pdf' })).toBe(1000)
    expect(historyWith({ type: 'file', data, mediaType: 'text/csv' })).toBe(7500)
    expect(historyWith({ type: 'file', url: 'https://example.org/a.csv', mediaType: 'text/csv' })).toBe(1000)
  })

  test('does not depend on ids and on the data of a provider', () => {
    const call = (callId: string, data: string): Message => ({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.', opaque: { provider: 'p', data } },
        { type: 'tool-call', callId, name: 'look', input: { at: 1 }, opaque: { provider: 'p', data } },
        {
          type: 'provider-tool',
          callId,
          name: 'search',
          input: { q: 'tea' },
          opaque: { provider: 'p', data },
        },
      ],
    })
    const [short, long] = [call('1', ''), call('call_1234567890', 'x'.repeat(1000))]
    expect(sizeOfRequest(request([long]))).toEqual(sizeOfRequest(request([short])))
  })

  test('is measured once for each message and each schema, in whatever request', () => {
    let measured = 0
    const counted = (value: object) => ({
      ...value,
      toJSON: () => {
        measured++
        return value
      },
    })
    const call: Message = {
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          callId: 'call_1',
          name: 'look',
          input: counted({ at: 'x'.repeat(100) }) as never,
        },
      ],
    }
    const inputSchema = counted({ type: 'object' }) as never
    const ask = () => {
      const tools = [{ name: 'look', description: '', inputSchema }]
      return sizeOfRequest(request([call, result('ok')], { tools }))
    }
    const first = ask()
    expect(measured).toBe(2)
    expect(ask()).toEqual(first)
    expect(measured).toBe(2)
  })
})

describe('the input of a request', () => {
  const messages = [
    user('u'.repeat(4000)),
    assistant('a'.repeat(4000)),
    result('r'.repeat(400)),
    user('next'),
  ]

  test('is what the provider reported, and an estimate of what came after the last answer', () => {
    expect(estimateInput(request(messages), { contextTokens: 5000, finish: 'tool-calls' })).toBe(5101)
  })

  test('is estimated as a whole before the first round and after a summary', () => {
    expect(estimateInput(request(messages), { contextTokens: undefined, finish: 'stop' })).toBe(2101)
  })

  test('is estimated as a whole if the last answer was interrupted, and so not reported', () => {
    expect(estimateInput(request(messages), { contextTokens: 500, finish: 'interrupted' })).toBe(2101)
  })

  test('of an empty request is one token', () => {
    expect(estimateInput(request([]), { contextTokens: undefined, finish: undefined })).toBe(1)
  })
})

describe('the use of the context', () => {
  test('has the parts in proportion to their size, scaled to what was reported', () => {
    const size = { system: 10, tools: 20, history: 30, results: 40 }
    expect(contextUse(size, 1000, { limit: 2000, compactAt: 1600 })).toEqual({
      tokens: 1000,
      limit: 2000,
      compactAt: 1600,
      system: 100,
      tools: 200,
      history: 300,
      results: 400,
    })
  })

  test('has parts that add up to the tokens, and an empty part stays empty', () => {
    const part = fc.oneof(fc.constant(0), fc.nat({ max: 1_000_000 }))
    const sizes = fc.record({ system: part, tools: part, history: part, results: part })
    fc.assert(
      fc.property(sizes, fc.nat({ max: 2_000_000 }), (size, tokens) => {
        const { system, tools, history, results, ...rest } = contextUse(size, tokens, {})
        expect(rest).toEqual({ tokens })
        expect(system + tools + history + results).toBe(tokens)
        expect(Math.min(system, tools, history, results)).toBeGreaterThanOrEqual(0)
        if (size.system === 0) expect(system).toBe(0)
        if (size.tools === 0) expect(tools).toBe(0)
        if (size.results === 0) expect(results).toBe(0)
        if (size.history === 0 && system + tools + results > 0) expect(history).toBe(0)
      }),
    )
  })
})

test('an output of some characters has at least one token', () => {
  expect([0, 1, 4, 5].map(estimateOutput)).toEqual([0, 1, 1, 2])
})
