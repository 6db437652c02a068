import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { describe, expect, test } from 'vitest'
import { textOf } from '../../protocol/index.ts'
import { byToken } from '../../server/server.test-kit.ts'
import { clientOf, clientTool, scripted, serveModels } from './openai.test-kit.ts'

/** An agent that repeats all that the user has said. */
const parrot = () =>
  scripted(({ messages }) => {
    const said = messages.flatMap((message) => (message.role === 'user' ? textOf(message) : []))
    return `You said ${said.join(', ')}.`
  })

const user = (content: string): ChatCompletionMessageParam => ({ role: 'user', content })
const assistant = (content: string): ChatCompletionMessageParam => ({ role: 'assistant', content })

async function serveParrot() {
  const given = await serveModels(parrot())
  const ask = async (messages: ChatCompletionMessageParam[], headers: Record<string, string> = {}) => {
    const { data, response } = await given.client.chat.completions
      .create({ model: 'miller', messages }, { headers })
      .withResponse()
    return {
      id: response.headers.get('x-thread-id') as string,
      text: data.choices[0]?.message.content ?? '',
    }
  }
  return { ...given, ask }
}

describe('a history', () => {
  test('continues the thread that it came from', async () => {
    const { ask, eventsOf } = await serveParrot()
    const first = await ask([user('a')])
    const second = await ask([user('a'), assistant(first.text), user('b')])
    const third = await ask([user('a'), assistant(first.text), user('b'), assistant(second.text), user('c')])
    expect(third).toEqual({ id: first.id, text: 'You said a, b, c.' })
    expect(second.id).toBe(first.id)
    expect((await eventsOf(first.id)).filter(({ type }) => type === 'input')).toHaveLength(3)
  })

  test('that the server does not know becomes a new thread', async () => {
    const { ask, app } = await serveParrot()
    const { id, text } = await ask([user('a'), assistant('Hm.'), user('b')])
    expect(text).toBe('You said a, b.')
    expect((await app.threads()).threads.map((thread) => thread.id)).toEqual([id])
  })

  test('that contradicts the log becomes a new thread', async () => {
    const { ask } = await serveParrot()
    const first = await ask([user('a')])
    const second = await ask([user('a'), assistant('I said something else.'), user('b')])
    expect(second.id).not.toBe(first.id)
    expect(second.text).toBe('You said a, b.')
  })

  test('that is continued twice becomes two threads', async () => {
    const { ask } = await serveParrot()
    const first = await ask([user('a')])
    const history = [user('a'), assistant(first.text)]
    const second = await ask([...history, user('b')])
    const other = await ask([...history, user('c')])
    expect(second).toEqual({ id: first.id, text: 'You said a, b.' })
    expect(other.id).not.toBe(first.id)
    expect(other.text).toBe('You said a, c.')
  })

  test('of another user is not found', async () => {
    const { baseURL } = await serveModels(parrot(), { auth: byToken })
    const ids = []
    for (const apiKey of ['ann', 'bob']) {
      const client = clientOf(baseURL, { apiKey })
      const messages = [user('a'), assistant('You said a.'), user('b')]
      const first = await client.chat.completions.create({ model: 'miller', messages: [user('a')] })
      const { response } = await client.chat.completions.create({ model: 'miller', messages }).withResponse()
      expect(first.id).toContain(response.headers.get('x-thread-id'))
      ids.push(response.headers.get('x-thread-id'))
    }
    expect(new Set(ids).size).toBe(2)
  })
})

describe('x-thread-id', () => {
  test('names the thread, also with a name that the client chose', async () => {
    const { ask } = await serveParrot()
    const first = await ask([user('a')], { 'x-thread-id': 'my chat' })
    const second = await ask([user('b')], { 'x-thread-id': 'my chat' })
    const third = await ask([user('c')], { 'x-thread-id': first.id })
    expect(second.id).toBe(first.id)
    expect(third).toEqual({ id: first.id, text: 'You said a, b, c.' })
  })

  test('lets a client send only the result of a call', async () => {
    const miller = scripted(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'pick', input: { of: 'sky' }, id: 'call_1' }],
    )
    const { client } = await serveModels(miller)
    const params = { model: 'miller', tools: [clientTool('pick')] }
    const headers = { 'x-thread-id': 'my chat' }
    await client.chat.completions.create({ ...params, messages: [user('Pick.')] }, { headers })
    const messages = [{ role: 'tool' as const, tool_call_id: 'call_1', content: 'blue' }]
    const { choices } = await client.chat.completions.create({ ...params, messages }, { headers })
    expect(choices[0]?.message.content).toBe('Done.')
    await expect(client.chat.completions.create({ ...params, messages })).rejects.toThrow(
      'must be the id of a call in an earlier message',
    )
  })
})

describe('results', () => {
  test('for a call that waits, without the others, are rejected', async () => {
    const miller = scripted(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'Done.'
        : [
            { call: 'pick', input: { of: 'sky' }, id: 'call_1' },
            { call: 'pick', input: { of: 'sea' }, id: 'call_2' },
          ],
    )
    const { client } = await serveModels(miller)
    const params = { model: 'miller', tools: [clientTool('pick')] }
    const { choices } = await client.chat.completions.create({ ...params, messages: [user('a')] })
    const called = choices[0]?.message as ChatCompletionMessageParam
    const result: ChatCompletionMessageParam = { role: 'tool', tool_call_id: 'call_1', content: 'blue' }
    const messages = [user('a'), called, result]
    await expect(client.chat.completions.create({ ...params, messages })).rejects.toMatchObject({
      status: 400,
      param: 'messages',
      message: expect.stringContaining('call_2'),
    })
  })

  test('for a call that the server has answered itself are ignored', async () => {
    const miller = scripted(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'I try again.' : [{ call: 'pick', raw: '{"of":', id: 'call_1' }],
    )
    const { client, app } = await serveModels(miller)
    const params = { model: 'miller', tools: [clientTool('pick')] }
    const stream = client.chat.completions.stream({ ...params, messages: [user('a')] })
    const { choices } = await stream.finalChatCompletion()
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'I try again.' } })
    const messages: ChatCompletionMessageParam[] = [
      user('a'),
      choices[0]?.message as ChatCompletionMessageParam,
      { role: 'tool', tool_call_id: 'call_1', content: 'invalid arguments' },
    ]
    const again = await client.chat.completions.create({ ...params, messages })
    expect(again.choices[0]?.finish_reason).toBe('stop')
    expect((await app.threads()).threads).toHaveLength(1)
  })
})
