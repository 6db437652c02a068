import type { UIMessage } from 'ai'
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../agent/index.ts'
import { cuttingProxy } from '../../client/cutting-proxy.test-kit.ts'
import { scriptedModel } from '../../testing/index.ts'
import { heldTool, openStore } from '../../threads/threads.test-kit.ts'
import { tool } from '../../tools/index.ts'
import { asker, muser, storyteller, until } from '../protocols.test-kit.ts'
import { newChat, plain, serveChats, textIn, transports } from './ai-sdk-ui.test-kit.ts'

const story = 'Once upon a time there was a mill. '.repeat(6)

/** Reasoning, a tool with progress, a retraction and text: everything that a cut can hit. */
function teller() {
  let isBroken = true
  const look = tool({
    name: 'look',
    description: 'Looks around',
    input: z.object({ where: z.string() }),
    async *run() {
      yield { percent: 50 }
      return { found: ['a mill'] }
    },
  })
  const model = scriptedModel(
    ({ messages }) => {
      if (messages.at(-1)?.role !== 'tool')
        return [
          { reasoning: 'I should look.' },
          { text: 'Let me see. ' },
          { call: 'look', input: { where: 'by the stream' } },
        ]
      if (!isBroken) return story
      isBroken = false
      return [{ text: 'Once upn' }, { error: { code: 'stream_interrupted', retryable: true } }]
    },
    { paceMs: 1, deltaChars: 7 },
  )
  return agent({ name: 'teller', model, tools: [look], retry: { baseMs: 1 } })
}

/** Resumes until the message is complete, as a page does when it is online again. */
async function resumeToEnd(
  chat: ReturnType<typeof newChat>,
  isComplete: (message: UIMessage | undefined) => boolean,
) {
  for (let tries = 0; !isComplete(chat.messages[1]); tries++) {
    if (tries > 50) throw new Error(`the message stays incomplete: ${JSON.stringify(chat.messages)}`)
    await chat.resumeStream()
  }
}

const isWhole = (message: UIMessage | undefined) => message?.metadata !== undefined

describe.each(transports)('over %s', (over) => {
  test('a cut at any byte and resumeStream() give the same message as no cut', async () => {
    const whole = await serveChats(teller())
    const uncut = whole.chat({ over })
    await uncut.sendMessage({ text: 'Tell me.' })
    const expected = plain(uncut.messages[1]?.parts)
    expect(textIn(uncut.messages[1])).toBe(`Let me see. ${story}`)
    // The response has about 6000 bytes. A WebSocket that is cut while it opens sends nothing.
    for (let cut = over === 'HTTP' ? 1 : 200; cut < 6000; cut += 397) {
      const { app, url } = await serveChats(teller())
      await using proxy = await cuttingProxy({
        port: Number(new URL(url).port),
        bytes: (nth) => (nth < 2 ? cut + 211 * nth : undefined),
      })
      const chat = newChat({ over, url: proxy.url, id: 'c' })
      await chat.sendMessage({ text: 'Tell me.' })
      await resumeToEnd(chat, isWhole)
      expect(plain(chat.messages[1]?.parts)).toEqual(expected)
      expect(chat.messages).toHaveLength(2)
      await app.close({ graceMs: 0 })
    }
  })

  test('a cut is an error, not the end of the message', async () => {
    const { url } = await serveChats(muser())
    await using proxy = await cuttingProxy({ port: Number(new URL(url).port) })
    const chat = newChat({ over, url: proxy.url, id: 'c' })
    const sent = chat.sendMessage({ text: 'Tell me.' })
    await until(() => chat.messages.length === 2)
    proxy.cut()
    await sent
    expect(chat.status).toBe('error')
  })

  test('an answer in progress is resumed by a page that knows nothing of it', async () => {
    const { chat } = await serveChats(storyteller(story, { paceMs: 2 }), { ui: { onDisconnect: 'continue' } })
    const one = chat({ id: 'c', over })
    const sent = one.sendMessage({ text: 'Tell me.' })
    await until(() => textIn(one.messages[1]).length > 20)
    const reloaded = chat({ id: 'c', over })
    await reloaded.resumeStream()
    await sent
    expect(plain(reloaded.messages)).toEqual(plain(one.messages.slice(1)))
  })

  test('an answer that waits for approval is resumed after a restart, and can be approved', async () => {
    const store = openStore()
    const before = await serveChats(asker(), { app: { store } })
    await before.chat({ id: 'c', over }).sendMessage({ text: 'Cut it.' })
    await before.app.close({ graceMs: 0 })
    const { chat } = await serveChats(asker(), { app: { store }, ui: { replayMs: 0 } })
    const one = chat({
      id: 'c',
      over,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    await one.resumeStream()
    expect(one.messages[0]?.parts[1]).toMatchObject({ state: 'approval-requested' })
    await one.addToolApprovalResponse({ id: 'call_1', approved: true })
    await until(() => one.status === 'ready' && textIn(one.messages[0]) === 'It is cut.')
    // Another page gets all of it, from the start of the first run.
    const { chat: again } = await serveChats(asker(), { app: { store } })
    const other = again({ id: 'c', over })
    await other.resumeStream()
    expect(plain(other.messages)).toEqual(plain(one.messages))
    expect(one.messages).toHaveLength(1)
  })

  test('an answer is resumed while the run continues after an approval', async () => {
    const held = heldTool('cut', { approve: true })
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'It is cut.' : [{ text: 'May I? ' }, { call: 'cut', id: 'call_1' }],
    )
    const { chat } = await serveChats(agent({ model, tools: [held.tool] }))
    const one = chat({
      id: 'c',
      over,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    await one.sendMessage({ text: 'Cut it.' })
    await one.addToolApprovalResponse({ id: 'call_1', approved: true })
    await held.startedTimes(1)
    const other = chat({ id: 'c', over })
    const resumed = other.resumeStream()
    await until(() => other.messages.length === 1)
    held.runs[0]?.release()
    await resumed
    await until(() => one.status === 'ready')
    expect(plain(other.messages)).toEqual(plain(one.messages.slice(1)))
    expect(textIn(other.messages[0])).toBe('May I? It is cut.')
  })

  test('a finished answer is resumed for a while, and then there is nothing to resume', async () => {
    const store = openStore()
    const { chat } = await serveChats(storyteller(story), { app: { store } })
    const one = chat({ id: 'c', over })
    await one.sendMessage({ text: 'Tell me.' })
    await one.resumeStream()
    expect(one.messages).toHaveLength(2)
    expect(textIn(one.messages[1])).toBe(story)
    const { chat: later } = await serveChats(storyteller(story), { app: { store }, ui: { replayMs: 0 } })
    const other = later({ id: 'c', over })
    await until(async () => {
      await other.resumeStream()
      return other.messages.length === 0
    })
    await later({ id: 'unknown', over }).resumeStream()
    expect(other.status).toBe('ready')
  })

  test('a message that is posted again gets the same answer, and is sent once', async () => {
    const { chat, threadOf } = await serveChats(storyteller(story))
    const one = chat({ id: 'c', over })
    await one.sendMessage({ text: 'Tell me.' })
    const again = chat({ id: 'c', over })
    await again.sendMessage({
      id: one.messages[0]?.id ?? '',
      role: 'user',
      parts: [{ type: 'text', text: 'Tell me.' }],
    })
    expect(plain(again.messages)).toEqual(plain(one.messages))
    expect((await (await threadOf('c')).state()).messages).toHaveLength(2)
  })
})
