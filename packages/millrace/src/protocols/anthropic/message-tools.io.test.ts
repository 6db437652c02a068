import type Anthropic from '@anthropic-ai/sdk'
import { expect, test } from 'vitest'
import { textOf } from '../../protocol/index.ts'
import { asker, spender } from '../protocols.test-kit.ts'
import {
  mixer,
  painter,
  pick,
  resultsOf,
  scripted,
  searchTool,
  serveMessages,
  textIn,
} from './anthropic.test-kit.ts'

type Params = Omit<Anthropic.MessageCreateParamsNonStreaming, 'stream'>
type Turns = Anthropic.MessageParam[]

const messages: Turns = [{ role: 'user', content: 'Tell me a story.' }]
const ask = { max_tokens: 1000, messages }

/** Both ways to get a message. */
const ways = [
  ['in one piece', (client: Anthropic, params: Params) => client.messages.create(params)],
  ['streamed', (client: Anthropic, params: Params) => client.messages.stream(params).finalMessage()],
] as const

const seconds = ['beta in one piece', 'beta streamed'] as const

function getBeta(client: Anthropic, way: (typeof seconds)[number], params: Params) {
  const beta = params as Anthropic.Beta.MessageCreateParamsNonStreaming
  return way === 'beta streamed'
    ? client.beta.messages.stream(beta).finalMessage()
    : client.beta.messages.create(beta)
}

test.each(ways)("the client's parallel calls %s are taken up with their results", async (_, get) => {
  const { client, app } = await serveMessages(painter())
  const params = { model: 'miller', ...ask, tools: [pick] }
  const first = await get(client, params)
  expect(first.stop_reason).toBe('tool_use')
  const calls = first.content.filter((block) => block.type === 'tool_use')
  expect(calls).toMatchObject([{ input: { of: 'sky' } }, { input: { of: 'sea' } }])
  const results = calls.map(({ id }) => ({
    type: 'tool_result' as const,
    tool_use_id: id,
    content: `blue ${id}`,
  }))
  const last = await get(client, {
    ...params,
    messages: [
      ...messages,
      { role: 'assistant', content: first.content },
      { role: 'user', content: results },
    ],
  })
  expect(textIn(last)).toBe('I have pick: blue call_1, pick: blue call_2.')
  expect(last.id).not.toBe(first.id)
  expect((await app.threads()).threads).toHaveLength(1)
})

test.each(ways)("a round %s can mix the server's and the client's tools", async (_, get) => {
  const { mixed, runs } = mixer()
  const { client, app } = await serveMessages(mixed)
  const params = { model: 'miller', ...ask, tools: [pick] }
  const first = await get(client, params)
  expect(first.stop_reason).toBe('tool_use')
  const own = first.content.filter(({ type }) => type === 'tool_use')
  expect(own).toMatchObject([{ id: 'call_c', name: 'pick' }])
  const result = { type: 'tool_result' as const, tool_use_id: 'call_c', content: 'blue' }
  const last = await get(client, {
    ...params,
    // Some clients keep only what they know.
    messages: [...messages, { role: 'assistant', content: own }, { role: 'user', content: [result] }],
  })
  expect(textIn(last)).toBe('search: found wheat, pick: blue')
  expect(runs).toEqual(['wheat'])
  expect((await app.threads()).threads).toHaveLength(1)
})

test.each(seconds)("%s: the server's calls and results are blocks of their own", async (way) => {
  const { search } = searchTool()
  const miller = scripted(
    (_, index) =>
      index === 0 ? [{ text: 'I look.' }, { call: 'search', input: { of: 'rye' }, id: 'call_s' }] : 'There.',
    [search],
  )
  const { client } = await serveMessages(miller)
  const { content } = await getBeta(client, way, { model: 'miller', ...ask })
  expect(content).toEqual([
    { type: 'text', text: 'I look.', citations: null },
    { type: 'mcp_tool_use', id: 'call_s', name: 'search', input: { of: 'rye' }, server_name: 'millrace' },
    {
      type: 'mcp_tool_result',
      tool_use_id: 'call_s',
      is_error: false,
      content: [{ type: 'text', text: 'found rye', citations: null }],
    },
    { type: 'text', text: 'There.', citations: null },
  ])
})

test('text next to a result reaches the next round', async () => {
  const miller = scripted((request) => {
    const { messages } = request
    if (resultsOf(request).length === 0) return [{ call: 'pick', input: { of: 'sky' }, id: 'call_1' }]
    return messages.map((message) => `${message.role}: ${textOf(message)}`).join(' | ')
  })
  const { client } = await serveMessages(miller)
  const params = { model: 'miller', ...ask, tools: [pick] }
  const { content } = await client.messages.create(params)
  const answer = await client.messages.create({
    ...params,
    messages: [
      ...messages,
      { role: 'assistant', content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'blue' },
          { type: 'text', text: 'Hurry up.' },
        ],
      },
    ],
  })
  expect(textIn(answer)).toBe('user: Tell me a story. | assistant:  | tool: blue | user: Hurry up.')
})

test.each(ways)('more of a budget is asked for %s in words, and a reply decides', async (_, get) => {
  const { client } = await serveMessages(spender())
  const asked = await get(client, { model: 'spender', ...ask })
  expect(textIn(asked)).toMatch(/budget of 1 round for this run is spent.*approve.*deny/s)
  expect(asked.content.some(({ type }) => type === 'tool_use')).toBe(false)
  const turns: Turns = [...messages, { role: 'assistant', content: asked.content }]
  const reply = (content: string) =>
    get(client, { model: 'spender', max_tokens: 9, messages: [...turns, { role: 'user', content }] })
  expect(textIn(await reply('approve'))).toBe('I saw a mill.')
})

test.each(ways)('an approval is asked for %s in words, and a reply decides', async (_, get) => {
  const { client, app } = await serveMessages(asker())
  const asked = await get(client, { model: 'asker', ...ask })
  expect(textIn(asked)).toMatch(/cut_rope.*approve.*deny/s)
  expect(asked.stop_reason).toBe('end_turn')
  const answered = await get(client, {
    model: 'asker',
    max_tokens: 9,
    messages: [
      ...messages,
      { role: 'assistant', content: asked.content },
      { role: 'user', content: 'approve' },
    ],
  })
  expect(textIn(answered)).toBe('It is cut.')
  expect((await app.threads()).threads).toHaveLength(1)
})
