import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../protocol/index.ts'
import { byToken } from '../../server/server.test-kit.ts'
import {
  clientOf,
  mixer,
  painter,
  pick,
  resultsOf,
  scripted,
  serveMessages,
  textIn,
} from './anthropic.test-kit.ts'

const messages = [{ role: 'user' as const, content: 'Paint it.' }]
const ask = { model: 'miller', max_tokens: 1000 }

/** A tool that the SDK's tool runner runs. */
function runnable() {
  const ran: string[] = []
  const tool = betaZodTool({
    name: 'pick',
    description: 'Picks a color',
    inputSchema: z.object({ of: z.string() }),
    run({ of }) {
      ran.push(of)
      return `blue ${of}`
    },
  })
  return { tool, ran }
}

/** The bodies of all requests. */
function spied(url: string) {
  const bodies: Record<string, unknown>[] = []
  const client = clientOf(url, {
    fetch(input, init) {
      bodies.push(JSON.parse(String(init?.body)))
      return fetch(input, init)
    },
  })
  return { client, bodies }
}

test.each([false, true])("the tool runner runs the client's parallel calls (stream: %s)", async (stream) => {
  const { url, app } = await serveMessages(painter())
  const { client, bodies } = spied(url)
  const { tool, ran } = runnable()
  const runner = client.beta.messages.toolRunner({
    ...ask,
    messages,
    tools: [tool],
    system: 'Paint.',
    stream,
  })
  const last = await runner.runUntilDone()
  expect(textIn(last)).toBe('I have pick: blue sky, pick: blue sea.')
  expect(ran).toEqual(['sky', 'sea'])
  expect(bodies).toMatchObject([
    { thread: { type: 'create' }, tools: [{ name: 'pick' }], system: 'Paint.' },
    { thread: { type: 'continue', previous_message_id: expect.stringMatching(/^msg_/) } },
  ])
  expect(bodies[1]).not.toHaveProperty('tools')
  expect((await app.threads()).threads).toHaveLength(1)
})

test.each([false, true])("the tool runner leaves the server's calls alone (stream: %s)", async (stream) => {
  const { mixed, runs } = mixer()
  const { client } = await serveMessages(mixed)
  const { tool, ran } = runnable()
  const last = await client.beta.messages
    .toolRunner({ ...ask, messages, tools: [tool], stream })
    .runUntilDone()
  expect(textIn(last)).toBe('search: found wheat, pick: blue sky')
  expect([runs, ran]).toEqual([['wheat'], ['sky']])
})

/** An agent that says what it was asked with. */
function mirror() {
  const requests: ModelRequest[] = []
  const miller = scripted((request) => {
    requests.push(request)
    const { messages, tools } = request
    const system = messages.find(({ role }) => role === 'system')?.content ?? ''
    const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
    return JSON.stringify({ system, tools: tools.map(({ name }) => name), said })
  })
  return { miller, requests }
}

test('a message thread sends only what is new, and keeps its tools and system prompt', async () => {
  const { miller } = mirror()
  const { url, app } = await serveMessages(miller)
  const { client, bodies } = spied(url)
  const thread = client.beta.messages.thread({ ...ask, system: 'Be brief.', tools: [pick] })
  const say = async (content: string) => JSON.parse(textIn(await thread.send({ role: 'user', content })))
  const kept = { system: 'Be brief.', tools: ['pick'] }
  expect(await say('One')).toEqual({ ...kept, said: ['One'] })
  expect(await say('Two')).toEqual({ ...kept, said: ['One', 'Two'] })
  const streamed = await thread.stream({ role: 'user', content: 'Three' }).finalMessage()
  expect(JSON.parse(textIn(streamed))).toEqual({ ...kept, said: ['One', 'Two', 'Three'] })
  expect(bodies.map(({ messages }) => (messages as unknown[]).length)).toEqual([1, 1, 1])
  expect((await app.threads()).threads).toHaveLength(1)
})

test('two requests after the same message are a fork', async () => {
  const { miller } = mirror()
  const { client, app } = await serveMessages(miller)
  const betas = ['message-threads-2026-08-12']
  const create = (content: string, thread: Anthropic.Beta.BetaMessageThreadParam, more: object = {}) =>
    client.beta.messages.create({ ...ask, ...more, betas, thread, messages: [{ role: 'user', content }] })
  const first = await create('One', { type: 'create' }, { tools: [pick] })
  const next = { type: 'continue' as const, previous_message_id: first.id }
  for (const word of ['Two', 'Three', 'Four']) {
    const said = JSON.parse(textIn(await create(word, next)))
    expect(said).toEqual({ system: '', tools: ['pick'], said: ['One', word] })
  }
  expect((await app.threads()).threads).toHaveLength(3)
})

test('tools can be added and removed in the middle', async () => {
  const { miller } = mirror()
  const { client } = await serveMessages(miller)
  const thread = client.beta.messages.thread({ ...ask, tools: [pick] })
  await thread.send({ role: 'user', content: 'One' })
  const definition = { ...pick, name: 'mix' }
  const answer = await thread.send([
    { role: 'user', content: 'Two' },
    {
      role: 'system',
      content: [
        { type: 'tool_removal', tool: { type: 'tool_reference', name: 'pick' } },
        { type: 'tool_addition', tool: { type: 'tool_definition', definition } },
      ],
    },
  ])
  expect(JSON.parse(textIn(answer)).tools).toEqual(['mix'])
  expect(JSON.parse(textIn(await thread.send({ role: 'user', content: 'Three' }))).tools).toEqual(['mix'])
})

test('a message that the server does not know is reported so that the SDK sends everything again', async () => {
  const { miller } = mirror()
  const { url, app } = await serveMessages(miller)
  const { client, bodies } = spied(url)
  const thread = client.beta.messages.thread({ ...ask, tools: [pick] })
  await thread.send({ role: 'user', content: 'One' })
  for (const { id } of (await app.threads()).threads) await app.thread(id).delete()
  const answer = JSON.parse(textIn(await thread.send({ role: 'user', content: 'Two' })))
  expect(answer).toEqual({ system: '', tools: ['pick'], said: ['One', 'Two'] })
  expect(bodies.map(({ thread }) => (thread as { type: string }).type)).toEqual([
    'create',
    'continue',
    'create',
  ])
})

test.each(['msg_0', 'msg_none_1', 'msg_../x_1', 'other'])('an id such as %s is not found', async (id) => {
  const { client } = await serveMessages(painter())
  const error = await client.beta.messages
    .create({ ...ask, messages, thread: { type: 'continue', previous_message_id: id } })
    .catch((error: unknown) => error)
  expect(error).toBeInstanceOf(Anthropic.NotFoundError)
  expect(error).toMatchObject({ type: 'not_found_error', errorCode: 'thread_not_found' })
})

test("the messages of other users' threads are not found", async () => {
  const { url } = await serveMessages(painter(), { auth: byToken })
  const as = (authToken: string) => clientOf(url, { apiKey: null, authToken })
  const { id } = await as('ann').messages.create({ ...ask, messages })
  const thread = { type: 'continue' as const, previous_message_id: id }
  const asked = as('bob').beta.messages.create({ ...ask, messages, thread })
  await expect(asked).rejects.toMatchObject({ status: 404, errorCode: 'thread_not_found' })
})

test('results for calls that are closed are ignored', async () => {
  const miller = scripted((request) => {
    if (resultsOf(request).length > 0) return resultsOf(request).join(', ')
    return [{ call: 'pick', input: { of: 'sky' }, id: 'call_1' }]
  })
  const { client } = await serveMessages(miller)
  const first = await client.beta.messages.create({
    ...ask,
    messages,
    tools: [pick],
    thread: { type: 'create' },
  })
  const result = (id: string) => ({ type: 'tool_result' as const, tool_use_id: id, content: `blue ${id}` })
  const answer = await client.beta.messages.create({
    ...ask,
    thread: { type: 'continue', previous_message_id: first.id },
    messages: [{ role: 'user', content: [result('call_0'), result('call_1')] }],
  })
  expect(textIn(answer)).toBe('pick: blue call_1')
})

test.each([false, true])(
  'a result for a call that the server has answered itself changes nothing (stream: %s)',
  async (stream) => {
    const miller = scripted((request) => {
      if (resultsOf(request).length > 0) return 'That was wrong.'
      return [{ call: 'pick', raw: '{"of":', id: 'call_1' }]
    })
    const { client, app } = await serveMessages(miller)
    const get = (messages: Anthropic.MessageParam[]) => {
      const params = { ...ask, messages, tools: [pick] }
      return stream ? client.messages.stream(params).finalMessage() : client.messages.create(params)
    }
    const first = await get(messages)
    expect(textIn(first)).toBe('That was wrong.')
    const call = { type: 'tool_use' as const, id: 'call_1', name: 'pick', input: {} }
    const result = { type: 'tool_result' as const, tool_use_id: 'call_1', content: 'blue' }
    const history: Anthropic.MessageParam[] = [
      ...messages,
      { role: 'assistant', content: [call, { type: 'text', text: textIn(first) }] },
      { role: 'user', content: [result] },
    ]
    expect(await get(history)).toMatchObject({ content: [], stop_reason: 'end_turn' })
    expect((await app.threads()).threads).toHaveLength(1)
  },
)
