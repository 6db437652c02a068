import { describe, expect, test } from 'vitest'
import { agent } from '../../agent/index.ts'
import { cuttingProxy } from '../../client/cutting-proxy.test-kit.ts'
import { textOf } from '../../protocol/index.ts'
import type { AiSdkUiOptions, ServerOptions } from '../../server/index.ts'
import { byToken } from '../../server/server.test-kit.ts'
import { scriptedModel } from '../../testing/index.ts'
import type { Thread } from '../../threads/index.ts'
import { eventsOf, heldTool, openStore, typesOf, untilIdle } from '../../threads/threads.test-kit.ts'
import { muser, until } from '../protocols.test-kit.ts'
import { conversation, newChat, serveChats, textIn, transports } from './ai-sdk-ui.test-kit.ts'

async function outcomes(thread: Thread) {
  return eventsOf(await thread.read(), 'run-end').map(({ outcome, error }) => [outcome, error?.message])
}

/** An agent that answers the first message never, and others at once. */
function slow() {
  const model = scriptedModel(({ messages }) =>
    messages.length === 1
      ? [{ text: 'Hm.' }, { hang: true }]
      : `read ${textOf(messages.findLast(({ role }) => role === 'user') as never)}`,
  )
  return agent({ model })
}

/** A server whose agent answers the first message when its tool is released, and others at once. */
async function serveHeld(ui: AiSdkUiOptions = {}, options: ServerOptions = {}) {
  const held = heldTool('wait')
  const model = scriptedModel(({ messages }) => {
    if (messages.at(-1)?.role === 'tool') return 'Done.'
    return messages.length === 1 ? [{ text: 'Wait. ' }, { call: 'wait' }] : 'Later.'
  })
  const given = await serveChats(agent({ model, tools: [held.tool] }), {
    ui: { graceMs: 600_000, ...ui },
    ...options,
  })
  return { ...given, held }
}

describe('stop()', () => {
  test('over HTTP stops the run after a while', async () => {
    const { chat, threadOf } = await serveChats(muser(), { ui: { graceMs: 20 } })
    const one = chat({ id: 'c' })
    const sent = one.sendMessage({ text: 'Hi.' })
    await until(() => textIn(one.messages[1]) === 'Hm.')
    await one.stop()
    await sent
    const thread = await threadOf('c')
    await untilIdle(thread)
    expect(await outcomes(thread)).toEqual([['canceled', 'the client disconnected']])
    expect(one.status).toBe('ready')
  })

  test('over WebSocket stops the run at once', async () => {
    const { chat, threadOf } = await serveChats(muser(), { ui: { graceMs: 600_000 } })
    const one = chat({ id: 'c', over: 'WebSocket' })
    const sent = one.sendMessage({ text: 'Hi.' })
    await until(() => textIn(one.messages[1]) === 'Hm.')
    await one.stop()
    await sent
    const thread = await threadOf('c')
    await untilIdle(thread)
    expect(await outcomes(thread)).toEqual([['canceled', 'stopped by the user']])
  })

  test.each(transports)('over %s does not stop the run of another message', async (over) => {
    const { chat, threadOf, held } = await serveHeld()
    const thread = await threadOf('c')
    await thread.send('Go.')
    await held.startedTimes(1)
    const one = chat({ id: 'c', over })
    const sent = one.sendMessage({ text: 'And then?' })
    await until(async () => (await thread.state()).queued.length === 1)
    await one.stop()
    await sent
    // With this message, a stop that is due happens at once.
    const next = one.sendMessage({ text: 'Well?' })
    await until(async () => (await thread.state()).queued.length === 2)
    held.runs[0]?.release()
    await next
    expect((await outcomes(thread)).map(([outcome]) => outcome)).not.toContain('canceled')
  })
})

describe('a client that disconnects', () => {
  test.each(transports)('over %s and comes back in time loses nothing', async (over) => {
    const { chat, threadOf, held, url, followers } = await serveHeld()
    await using proxy = await cuttingProxy({ port: Number(new URL(url).port) })
    const one = newChat({ id: 'c', over, url: proxy.url })
    const sent = one.sendMessage({ text: 'Go.' })
    await until(() => textIn(one.messages[1]) === 'Wait. ')
    await held.startedTimes(1)
    proxy.cut()
    await sent
    await until(() => followers() === 0)
    const back = chat({ id: 'c', over, messages: one.messages })
    const resumed = back.resumeStream()
    await until(() => back.status === 'streaming')
    const next = chat({ id: 'c', over }).sendMessage({ text: 'And then?' })
    const thread = await threadOf('c')
    await until(async () => (await thread.state()).queued.length === 1)
    held.runs[0]?.release()
    await Promise.all([resumed, next])
    expect(textIn(back.messages[1])).toBe('Wait. Done.')
    expect((await outcomes(thread))[0]).toEqual(['completed', undefined])
  })

  test.each(transports)('over %s stops nothing while another tab reads the answer', async (over) => {
    const { chat, threadOf, held, url, followers } = await serveHeld()
    await using proxy = await cuttingProxy({ port: Number(new URL(url).port) })
    const one = newChat({ id: 'c', over, url: proxy.url })
    const sent = one.sendMessage({ text: 'Go.' })
    await held.startedTimes(1)
    const tab = chat({ id: 'c', over })
    const resumed = tab.resumeStream()
    await until(() => tab.messages.length === 1)
    proxy.cut()
    await sent
    await until(() => followers() === 1)
    const next = chat({ id: 'c', over }).sendMessage({ text: 'And then?' })
    const thread = await threadOf('c')
    await until(async () => (await thread.state()).queued.length === 1)
    held.runs[0]?.release()
    await Promise.all([resumed, next])
    expect((await outcomes(thread))[0]).toEqual(['completed', undefined])
  })

  test.each(transports)('over %s does not stop the run if the server is set up to continue', async (over) => {
    const { chat, threadOf, held, url, followers } = await serveHeld({ onDisconnect: 'continue' })
    await using proxy = await cuttingProxy({ port: Number(new URL(url).port) })
    const one = newChat({ id: 'c', over, url: proxy.url })
    const sent = one.sendMessage({ text: 'Go.' })
    await held.startedTimes(1)
    proxy.cut()
    await sent
    await until(() => followers() === 0)
    const next = chat({ id: 'c', over }).sendMessage({ text: 'And then?' })
    const thread = await threadOf('c')
    await until(async () => (await thread.state()).queued.length === 1)
    held.runs[0]?.release()
    await next
    expect((await outcomes(thread))[0]).toEqual(['completed', undefined])
  })

  test.each(transports)('over %s and sends a new message stops the run first', async (over) => {
    const { chat, threadOf, url, followers } = await serveChats(slow(), { ui: { graceMs: 600_000 } })
    await using proxy = await cuttingProxy({ port: Number(new URL(url).port) })
    const one = newChat({ id: 'c', over, url: proxy.url })
    const sent = one.sendMessage({ text: 'one' })
    await until(() => textIn(one.messages[1]) === 'Hm.')
    proxy.cut()
    await sent
    await until(() => followers() === 0)
    const next = chat({ id: 'c', over, messages: one.messages })
    await next.sendMessage({ text: 'two' })
    expect(conversation(next.messages)).toEqual([
      ...['user: one', 'assistant: Hm.', 'user: two', 'assistant: read two'],
    ])
    expect(await outcomes(await threadOf('c'))).toEqual([
      ['canceled', 'the client disconnected'],
      ['completed', undefined],
    ])
  })

  test.each(transports)('over %s because its access has ended does not stop the run', async (over) => {
    const { app, chat, threadOf, held, followers } = await serveHeld({}, { auth: byToken })
    const headers = { authorization: 'Bearer ann' }
    const one = chat({ id: 'c', over, headers })
    const sent = one.sendMessage({ text: 'Go.' })
    await held.startedTimes(1)
    await until(() => one.messages.length === 2)
    expect(app.signOut('ann')).toBe(1)
    await sent
    await until(() => followers() === 0)
    const next = chat({ id: 'c', over, headers }).sendMessage({ text: 'And then?' })
    const thread = await threadOf('c', 'ann')
    await until(async () => (await thread.state()).queued.length === 1)
    held.runs[0]?.release()
    await next
    expect((await outcomes(thread))[0]).toEqual(['completed', undefined])
  })

  test.each(transports)('over %s because the server closes does not stop the run', async (over) => {
    const store = openStore()
    const { app, chat, threadOf } = await serveChats(muser(), { ui: { graceMs: 0 }, app: { store } })
    const one = chat({ id: 'c', over })
    const sent = one.sendMessage({ text: 'Hi.' })
    await until(() => textIn(one.messages[1]) === 'Hm.')
    const { id } = await threadOf('c')
    await app.close({ graceMs: 100 })
    await sent
    const entries = await store.read(id, { after: 0, limit: 100 })
    expect(typesOf(entries)).toContain('text')
    expect(typesOf(entries)).not.toContain('stop')
    expect(one.status).toBe('error')
  })
})
