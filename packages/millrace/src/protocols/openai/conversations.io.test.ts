import { expect, test } from 'vitest'
import { byToken } from '../../server/server.test-kit.ts'
import { counter, picker } from '../protocols.test-kit.ts'
import { clientOf, scripted, serveModels } from './openai.test-kit.ts'
import { collect, failure, pickColor } from './responses.test-kit.ts'

/** Repeats the conversation. */
const repeater = () =>
  scripted(({ messages }) =>
    messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`).join('\n'),
  )

test('responses of a conversation follow each other', async () => {
  const { client } = await serveModels(counter())
  const { id } = await client.conversations.create({ metadata: { topic: 'mills' } })
  const ask = (input: string, conversation: string | { id: string }) =>
    client.responses.create({ model: 'counter', input, conversation })
  const first = await ask('One.', id)
  expect(first.conversation).toEqual({ id })
  expect(first.output_text).toContain('to 1 messages')
  expect((await ask('Two.', { id })).output_text).toContain('to 3 messages')
  const retrieved = await client.conversations.retrieve(id)
  expect(retrieved).toMatchObject({ id, object: 'conversation', metadata: { topic: 'mills' } })
})

test('a new conversation can have items, and is answered with the first response', async () => {
  const { client, threadOf } = await serveModels({ counter: counter(), miller: repeater() })
  const { id, created_at } = await client.conversations.create({
    items: [
      { role: 'developer', content: 'Speak of mills.' },
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'Hello, miller.' },
      { role: 'user', content: 'One more thing.' },
    ],
  })
  const thread = threadOf(id.replace('conv_', ''))
  expect((await thread.info()).status).toBe('idle')
  const listed = await collect(client.conversations.items.list(id, { order: 'asc', limit: 2 }))
  expect(listed).toMatchObject([
    { role: 'developer', content: [{ text: 'Speak of mills.' }] },
    { role: 'user', content: [{ text: 'Hello.' }] },
    { role: 'assistant', content: [{ type: 'output_text', text: 'Hello, miller.' }] },
    { role: 'user', content: [{ text: 'One more thing.' }] },
  ])
  // The conversation was created without a model: the first response names one.
  const response = await client.responses.create({ model: 'miller', input: 'Well?', conversation: id })
  for (const text of ['Speak of mills.', 'Hello.', 'Hello, miller.', 'One more thing.', 'Well?'])
    expect(response.output_text.split(text)).toHaveLength(2)
  expect((await client.conversations.retrieve(id)).created_at).toBe(created_at)
  const second = await client.responses.create({ model: 'miller', input: 'And?', conversation: id })
  expect(second.output_text.split('One more thing.').length).toBeGreaterThan(2)
  expect(await collect(client.conversations.items.list(id))).toHaveLength(7)
  const other = client.responses.create({ model: 'counter', input: 'And?', conversation: id })
  expect(await failure(other)).toMatchObject({ status: 400, param: 'model' })
})

test('results of the client continue a conversation', async () => {
  const { client } = await serveModels(picker())
  const { id } = await client.conversations.create()
  await client.responses.create({ ...pickColor, conversation: id })
  const response = await client.responses.create({
    ...pickColor,
    conversation: id,
    input: [{ type: 'function_call_output', call_id: 'call_1', output: 'blue' }],
  })
  expect(response.output_text).toContain('blue')
  expect(
    (await collect(client.conversations.items.list(id, { order: 'asc' }))).map(({ type }) => type),
  ).toEqual(['message', 'function_call', 'function_call_output', 'message'])
})

test('a conversation is deleted with everything in it', async () => {
  const { client } = await serveModels(counter())
  const { id } = await client.conversations.create()
  const response = await client.responses.create({ model: 'counter', input: 'One.', conversation: id })
  expect(await client.conversations.delete(id)).toEqual({ id, object: 'conversation.deleted', deleted: true })
  expect(await failure(client.conversations.retrieve(id))).toMatchObject({ status: 404 })
  expect(await failure(client.responses.retrieve(response.id))).toMatchObject({ status: 404 })
  const next = client.responses.create({ model: 'counter', input: 'Two.', conversation: id })
  expect(await failure(next)).toMatchObject({ status: 404 })
})

test('metadata cannot be changed, and the error says so', async () => {
  const { client } = await serveModels(counter())
  const { id } = await client.conversations.create()
  const { status, param, message } = await failure(client.conversations.update(id, { metadata: { a: 'b' } }))
  expect({ status, param }).toEqual({ status: 400, param: 'metadata' })
  expect(message).toContain('set it on creation')
})

test('conversations and responses of other users do not exist', async () => {
  const { baseURL } = await serveModels(counter(), { auth: byToken })
  const ann = clientOf(baseURL, { apiKey: 'ann' })
  const bob = clientOf(baseURL, { apiKey: 'bob' })
  const { id } = await ann.conversations.create()
  const response = await ann.responses.create({ model: 'counter', input: 'One.', conversation: id })
  expect(await failure(bob.conversations.retrieve(id))).toMatchObject({ status: 404 })
  expect(await failure(bob.responses.retrieve(response.id))).toMatchObject({ status: 404 })
  expect(await failure(bob.responses.cancel(response.id))).toMatchObject({ status: 404 })
  expect(await failure(bob.responses.delete(response.id))).toMatchObject({ status: 404 })
})
