import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import type { JsonObject, Message, ModelRequest, UserPart } from '../protocol/index.ts'
import { anthropicMessageCache } from './anthropic/messages.ts'
import { anthropicBody } from './anthropic/request.ts'
import { traitsOf } from './anthropic/traits.ts'
import { dialectOf } from './openai-chat/dialects.ts'
import { chatBody, chatMessageCache } from './openai-chat/request.ts'
import { responsesBody, responsesMessageCache } from './openai-responses/request.ts'
import { bodyText } from './wire/body.ts'

type MakeBody = (messages: readonly Message[]) => JsonObject

const provider = 'p'
const request = (messages: readonly Message[]): ModelRequest => ({ messages, tools: [], settings: {} })

/** One model of each API. Each call opens another one, which has converted nothing yet. */
const models: Readonly<Record<string, () => MakeBody>> = {
  'Chat Completions': () => {
    const dialect = dialectOf('https://api.mistral.ai/v1')
    const convert = chatMessageCache({ provider, dialect, sendReasoning: 'always' })
    return (messages) => chatBody(request(messages), { model: 'm', dialect, settings: {}, convert })
  },
  Responses: () => {
    const convert = responsesMessageCache({ provider, canReason: true })
    return (messages) =>
      responsesBody(request(messages), { model: 'm', settings: {}, convert, canReason: true })
  },
  Messages: () => {
    const convert = anthropicMessageCache(provider)
    const traits = traitsOf('claude-sonnet-4-5')
    return (messages) =>
      anthropicBody(request(messages), { model: 'm', convert, traits, settings: {}, cache: '5m' })
  },
}

const word = fc.constantFrom('Hi', 'Hm.', '"so"', ' ', '', 'naïve 🙂', 'broken \ud83d')
const image = { type: 'image', data: 'AA==', mediaType: 'image/png' } as const
const audio = { type: 'file', data: 'AA==', mediaType: 'audio/flac' } as const
const opaque = fc.option(
  fc.constantFrom<JsonObject>(
    { type: 'thinking', signature: 's' },
    { type: 'reasoning', encrypted_content: 'x' },
    { field: 'reasoning' },
    { type: 'custom_tool_call', name: 'look', input: 'x' },
    { type: 'function_call', caller: { type: 'direct' } },
    { type: 'server_tool_use', id: 'srv', name: 'search', input: {} },
    { type: 'container', id: 'c1' },
  ),
  { nil: undefined, freq: 1 },
)
const withOpaque = <Part>(part: fc.Arbitrary<Part>) =>
  fc.tuple(part, opaque).map(([one, data]) => (data ? { ...one, opaque: { provider, data } } : one))
const text = word.map((text) => ({ type: 'text', text }) as const)
const callId = fc.constantFrom('abcdefghi', 'call_1', 'call_2', 'a b', 'x'.repeat(80), 'z')

/** A message and, if it has calls, their results. */
const turn = fc.oneof(
  fc.record({ role: fc.constant('user' as const), content: word }),
  fc
    .array(fc.oneof(text, fc.constantFrom<UserPart>(image, audio)), { minLength: 1, maxLength: 3 })
    .map((content) => ({ role: 'user' as const, content })),
  fc.record({ role: fc.constant('system' as const), content: word }),
  fc
    .record({
      parts: fc.array(
        fc.oneof(
          withOpaque(text),
          withOpaque(word.map((text) => ({ type: 'reasoning', text }) as const)),
          withOpaque(
            fc.constant({
              type: 'provider-tool',
              callId: 's',
              name: 'search',
              opaque: { provider, data: null },
            }),
          ),
        ),
        { maxLength: 3 },
      ),
      ids: fc.uniqueArray(callId, { maxLength: 2 }),
      data: opaque,
      images: fc.boolean(),
    })
    .map(({ parts, ids, data, images }) => [
      {
        role: 'assistant',
        content: [
          ...parts,
          ...ids.map((id) => ({
            ...{ type: 'tool-call', callId: id, name: 'look', input: { at: id } },
            ...(data && { opaque: { provider, data } }),
          })),
        ],
      },
      ...ids.map((id) => ({
        ...{ role: 'tool', callId: id, name: 'look' },
        content: [{ type: 'json', value: { at: id } }, ...(images ? [image] : [])],
      })),
    ]),
)
const question = { role: 'user', content: 'Hi' } as const
/** Unsupported files are rejected in the latest user messages only. */
const end = [{ role: 'assistant', content: [{ type: 'text', text: 'Go on.' }] }, question] as const
const conversation = fc
  .array(turn, { maxLength: 8 })
  .map((turns) => [question, ...turns.flat(), ...end] as Message[])

/** What a model does with a conversation depends on nothing that it has sent before. */
describe.each(Object.entries(models))('%s', (_, open) => {
  test('sends a conversation the same way however much of it was sent before', () => {
    const cuts = fc.array(fc.tuple(fc.nat(12), fc.nat(12)), { maxLength: 6 })
    fc.assert(
      fc.property(conversation, conversation, cuts, (one, other, parts) => {
        const used = open()
        for (const [first, second] of parts) {
          const messages = [...one.slice(0, first), ...other.slice(0, second), ...end]
          const fresh = open()(messages.map((message) => ({ ...message })))
          expect(used(messages)).toStrictEqual(fresh)
          expect(bodyText(used(messages))).toBe(bodyText(fresh))
        }
      }),
      { numRuns: sized(300) },
    )
  })

  test('sends what JSON.stringify makes of the body, with whole characters', () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const body = open()(messages)
        const twice = [bodyText(body), bodyText(body)]
        const whole = JSON.parse(JSON.stringify(body), (_, value) =>
          typeof value === 'string' ? value.toWellFormed() : value,
        )
        for (const sent of twice) expect(JSON.parse(sent)).toStrictEqual(whole)
      }),
      { numRuns: sized(300) },
    )
  })

  test('converts and serializes a message once', () => {
    let read = 0
    const counted = (at: number): Message => ({
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          callId: `call_${at}`,
          name: 'look',
          input: { toJSON: () => ++read } as never,
        },
      ],
    })
    const result = (at: number): Message => ({
      role: 'tool',
      callId: `call_${at}`,
      name: 'look',
      content: [{ type: 'json', value: { toJSON: () => ++read } as never }],
    })
    const makeBody = open()
    const messages: Message[] = [question]
    const reads: number[] = []
    for (let round = 0; round < 20; round++) {
      messages.push(counted(round), result(round))
      read = 0
      bodyText(makeBody(messages))
      reads.push(read)
    }
    // The last turns of a Messages conversation are sent again with cache marks.
    expect(Math.max(...reads.slice(2))).toBe(2)
  })
})

test('a call is renamed again if a conversation already uses its new name', () => {
  const answer = (callId: string): Message[] => [
    { role: 'assistant', content: [{ type: 'tool-call', callId, name: 'look', input: {} }] },
    { role: 'tool', callId, name: 'look', content: [] },
  ]
  const open = models['Chat Completions'] as () => MakeBody
  const idsIn = (body: JsonObject) => JSON.stringify(body).match(/(?<="(tool_call_id|id)":")[^"]+/g)
  const renamed = answer('call_1')
  const used = open()
  const [name = ''] = idsIn(used([question, ...renamed])) ?? []
  const messages = [question, ...answer(name), ...renamed]
  expect(idsIn(used(messages))).toStrictEqual(idsIn(open()(messages)))
  expect(new Set(idsIn(used(messages))).size).toBe(2)
})

test('a body is serialized without what JSON cannot express', () => {
  const body = { a: undefined, b: () => 1, list: [undefined, 1, []], empty: [], n: Number.NaN, s: '\ud83d' }
  expect(bodyText(body as never)).toBe('{"list":[null,1,[]],"empty":[],"n":null,"s":"�"}')
})
