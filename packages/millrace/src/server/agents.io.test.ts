import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import { client } from '../client/index.ts'
import type { Entry, RunRequest } from '../protocol/index.ts'
import { exportThread, textOf } from '../protocol/index.ts'
import { entriesOf, picker, socketClient, until } from '../protocols/protocols.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { byToken, served } from './server.test-kit.ts'

const look = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'seen' })

/** Says which model answers, its system prompt, and how many tools it has. */
const model = (id: string) =>
  scriptedModel(
    ({ messages, tools, settings }) => {
      const system = messages.flatMap((message) => (message.role === 'system' ? [textOf(message)] : []))
      return JSON.stringify([id, ...system, tools.length, settings.temperature ?? null])
    },
    { id, simulated: true },
  )

const desk = () =>
  agent({
    name: 'helper',
    description: 'Helps with orders.',
    starters: ['Where is ORD-42?'],
    model: [model('small'), model('spare')],
    models: [model('large')],
    system: 'Be kind.',
    tools: [look],
  })

/** `ada` may inspect, and others may not. */
const auth = (request: Request) => {
  const user = byToken(request)
  return user && { ...user, canInspect: user.user === 'ada' }
}

const info = {
  name: 'desk',
  description: 'Helps with orders.',
  starters: ['Where is ORD-42?'],
  tools: ['look'],
  models: ['small', 'large'],
  isSimulated: true,
}

describe('agents', () => {
  test('are listed with what users can know about them', async () => {
    const { ask } = served({ desk: desk(), bare: agent({ model: scriptedModel([]) }) }, { auth })
    expect(await (await ask('GET', '/agents', { as: 'bob' })).json()).toEqual({
      agents: [info, { name: 'bare', tools: [], models: ['scripted'] }],
    })
  })

  test('show how they are set up to users who may inspect', async () => {
    const { app } = served({ desk: desk(), 'a/b': desk() }, { auth })
    const { url } = await app.listen({ port: 0 })
    const [ada, bob] = [client(url, { token: 'ada' }), client(url, { token: 'bob' })]
    expect(await bob.agents()).toMatchObject([info, { name: 'a/b' }])
    expect(await ada.agent('desk')).toMatchObject({
      ...info,
      system: 'Be kind.',
      tools: [{ name: 'look', description: 'Looks', inputSchema: { type: 'object' } }],
      models: [{ id: 'small', isSimulated: true }, { id: 'spare', isFallback: true }, { id: 'large' }],
      limits: { maxRounds: 10 },
    })
    expect(await ada.agent('a/b')).toMatchObject({ name: 'a/b' })
    await expect(ada.agent('desc')).rejects.toMatchObject({ code: 'not_found', status: 404 })
    // Not even whether there is such an agent.
    for (const name of ['desk', 'desc'])
      await expect(bob.agent(name)).rejects.toMatchObject({ code: 'auth', status: 403 })
    await expect(ada.agent('')).rejects.toMatchObject({ code: 'invalid_input' })
  })

  test('describe themselves in the app', () => {
    const { app } = served({ desk: desk() })
    expect(app.describe()).toMatchObject({ name: 'desk', system: 'Be kind.' })
    expect(() => app.describe('dusk')).toThrow("Did you mean 'desk'?")
  })
})

describe('what a request replaces', () => {
  const replace = { system: 'Be brief.', tools: [] }
  type Ask = ReturnType<typeof served>['ask']

  async function thread(ask: Ask, as: string): Promise<string> {
    const { id } = await (await ask('POST', '/threads', { as })).json()
    return id
  }

  async function answerIn(ask: Ask, id: string, as: string): Promise<unknown> {
    const { messages } = await (await ask('GET', `/threads/${id}`, { as })).json()
    return JSON.parse(textOf(messages.at(-1)))
  }

  async function idle(ask: Ask, id: string, as: string): Promise<Entry[]> {
    return entriesOf((await ask('GET', `/threads/${id}/events?until=idle`, { as })).body)
  }

  test('is accepted with everything else from users who may inspect', async () => {
    const { ask } = served(desk(), { auth, clientOptions: [] })
    const request: RunRequest = { model: 'large', system: 'In verse.', settings: { temperature: 1 }, replace }
    const messages = [{ role: 'user', content: 'Hi' }]
    const { id } = await (await ask('POST', '/threads', { as: 'ada', body: { messages, request } })).json()
    await idle(ask, id, 'ada')
    expect(await answerIn(ask, id, 'ada')).toEqual(['large', 'Be brief.\n\nIn verse.', 0, 1])
    // Not even they can use the keys of the server.
    const secret = { message: 'Hi', request: { settings: { headers: { 'x-org': 'other' } } } }
    expect((await ask('POST', `/threads/${id}/messages`, { as: 'ada', body: secret })).status).toBe(400)
  })

  test('is rejected from others with 403, whatever it comes with', async () => {
    const { ask } = served(picker(), { auth })
    const id = await thread(ask, 'bob')
    await ask('POST', `/threads/${id}/messages`, { as: 'bob', body: { message: 'Pick one.' } })
    const before = await idle(ask, id, 'bob')
    for (const [path, body] of [
      ['/threads', { messages: [{ role: 'user', content: 'Hi' }] }],
      [`/threads/${id}/messages`, { message: 'Hi' }],
      [`/threads/${id}/rewind`, { before: 1 }],
      [`/threads/${id}/calls/call_1/result`, { output: 'red' }],
      [`/threads/${id}/approvals/call_1`, { approved: false }],
    ] as const) {
      const response = await ask('POST', path, { as: 'bob', body: { ...body, request: { replace } } })
      expect([path, response.status]).toEqual([path, 403])
      expect(await response.json()).toMatchObject({
        error: { code: 'auth', message: expect.stringContaining('canInspect') },
      })
    }
    expect(await idle(ask, id, 'bob')).toEqual(before)
  })

  test('is rejected from others over a WebSocket, and accepted from users who may inspect', async () => {
    const { app, ask } = served(desk(), { auth })
    const { url } = await app.listen({ port: 0 })
    for (const [as, expected] of [
      ['bob', { type: 'error', code: 'auth' }],
      ['ada', { type: 'ack' }],
    ] as const) {
      const id = await thread(ask, as)
      const socket = await socketClient(`${url}/threads/${id}/socket`, {
        headers: { authorization: `Bearer ${as}` },
      })
      socket.send({ type: 'send', id: 'a', message: 'Hi', request: { replace } })
      const answer = () => socket.frames.find((frame) => frame.id === 'a')
      await until(() => answer() !== undefined)
      expect(answer()).toMatchObject(expected)
    }
  })

  test('is accepted without auth, unless clientOptions are set', async () => {
    const statusOf = async (options: Parameters<typeof served>[1], request: RunRequest) => {
      const body = { messages: [{ role: 'user', content: 'Hi' }], request }
      return (await served(desk(), options).ask('POST', '/threads', { body })).status
    }
    for (const options of [{}, { auth: false }] as const)
      expect(await statusOf(options, { system: 'In verse.', replace })).toBe(201)
    for (const clientOptions of [['tools'], { helper: ['tools'] }] as const) {
      expect(await statusOf({ auth: false, clientOptions }, { system: 'In verse.' })).toBe(400)
      expect(await statusOf({ auth: false, clientOptions }, { replace })).toBe(403)
    }
  })

  test('does not come with an imported thread', async () => {
    const { app, ask } = served(desk(), { auth })
    const id = await thread(ask, 'ada')
    await ask('POST', `/threads/${id}/messages`, { as: 'ada', body: { message: 'Hi', request: { replace } } })
    await idle(ask, id, 'ada')
    expect(await answerIn(ask, id, 'ada')).toEqual(['small', 'Be brief.', 0, null])
    const body = await exportThread(app.thread(id))
    const created = await ask('POST', '/import', { as: 'bob', body })
    expect(created.status).toBe(201)
    const imported = (await created.json()).id
    const entries = await idle(ask, imported, 'bob')
    const before = entries.find(({ event }) => event.type === 'run-start')?.seq
    await ask('POST', `/threads/${imported}/rewind`, { as: 'bob', body: { before } })
    await idle(ask, imported, 'bob')
    expect(await answerIn(ask, imported, 'bob')).toEqual(['small', 'Be kind.', 1, null])
  })

  test('lets others choose a model', async () => {
    const { ask } = served(desk(), { auth })
    const id = await thread(ask, 'bob')
    const send = (request: RunRequest) =>
      ask('POST', `/threads/${id}/messages`, { as: 'bob', body: { message: 'Hi', request } })
    expect((await send({ model: 'large' })).status).toBe(202)
    await idle(ask, id, 'bob')
    expect(await answerIn(ask, id, 'bob')).toEqual(['large', 'Be kind.', 1, null])
    const unknown = await send({ model: 'spare' })
    expect(unknown.status).toBe(400)
    expect((await unknown.json()).error.message).toContain('It has: small, large.')
  })
})
