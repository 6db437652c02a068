import { join } from 'node:path'
import { textOf } from 'millrace'
import { client, type RemoteThread, type ThreadSnapshot, watch } from 'millrace/client'
import { applyEntry, createView } from 'millrace/view'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainEnv, run } from '../../processes.ts'
import { root } from '../../root.ts'
import { chatOf } from '../chat.test-kit.ts'
import { describePage } from '../page.test-kit.ts'
import { reactChat } from '../react.test-kit.ts'
import { type ClientServer, openClientServer } from './clients.test-kit.ts'
import { noEval } from './scenarios.test-kit.ts'

const names = ['useChat', 'useThread', 'the page', 'the command line', 'a WebSocket'] as const

describePage('one thread', (visit) => {
  let server: ClientServer
  beforeAll(async () => {
    server = await openClientServer('use-chat', 'use-thread')
  })
  afterAll(() => server?.close())

  async function newThread() {
    const { url } = server
    const thread = await client(url, { transport: 'websocket' }).create()
    const useChat = await visit(`${url}/use-chat#${thread.id}`, { tolerates: [noEval] })
    const page = await visit(`${url}/#/threads/${thread.id}`)
    return { thread, useChat, page }
  }

  test('is steered from the page while useChat shows the answer', async () => {
    server.script('Where is it?', [[{ call: 'look', input: { at: 'left' } }]])
    server.script('Hurry', ['It is here.'])
    const { thread, useChat, page } = await newThread()
    await say(useChat, 'Where is it?')
    await useChat.getByText('look({"at":"left"}) running').waitFor()
    await chatOf(page).say('Hurry')
    await expect.poll(async () => (await thread.state()).queued).toHaveLength(1)
    server.open()
    await useChat.getByText('It is here.').waitFor()
    const conversation = ['Where is it?', 'Hurry', 'It is here.']
    expect(await textsOn(useChat)).toEqual(conversation)
    await expect.poll(() => rowsOn(page)).toEqual(conversation)
  })

  test('is used by five clients at the same time, which show the same conversation', async () => {
    const { url, file } = server
    for (const name of names) server.script(`From ${name}`, [`Hello, ${name}.`])
    const millrace = (...args: string[]) =>
      run(process.execPath, [join(root, 'packages/millrace/bin/millrace.js'), '--data', file, ...args], {
        cwd: root,
        env: plainEnv(),
      })

    const { thread, useChat, page } = await newThread()
    const useThread = await visit(`${url}/use-thread#${thread.id}`)
    const watching = watchTexts(watch(thread))
    const [, , , asked] = await Promise.all([
      say(useChat, 'From useChat'),
      say(useThread, 'From useThread'),
      chatOf(page).say('From the page'),
      millrace('--thread', thread.id, 'From the command line'),
      thread.send('From a WebSocket'),
    ])
    // The page steers a run in progress, which then answers two messages at once.
    expect(asked).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^Hello, .*\.\n$/) })

    const sent = names.map((name) => `From ${name}`).sort()
    await expect.poll(() => stateOf(thread)).toMatchObject({ status: 'idle', sent })
    const { texts: conversation } = await stateOf(thread)

    await reactChat(useChat).until('idle')
    await reactChat(useChat).button('Refresh').click()
    await expect.poll(() => textsOn(useChat)).toEqual(conversation)
    await expect.poll(() => textsOn(useThread)).toEqual(conversation)
    await expect.poll(() => rowsOn(page)).toEqual(conversation)
    await expect.poll(() => watching.texts).toEqual(conversation)
    // As data: the text of an answer is printed in two parts if a message arrives in the middle.
    const shown = await millrace('show', '--json', thread.id)
    expect(textsOf(shown.stdout)).toEqual(conversation)
  })
})

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

async function stateOf(thread: RemoteThread) {
  const state = await thread.state()
  const texts = textsIn(state)
  return { status: state.status, texts, sent: texts.filter((text) => text.startsWith('From')).sort() }
}

function textsIn({ messages }: Pick<ThreadSnapshot, 'messages'>): string[] {
  return messages.map((message) => textOf(message))
}

/** The texts of the log that the command line prints. */
function textsOf(lines: string): string[] {
  const view = createView()
  for (const line of lines.trim().split('\n')) applyEntry(view, JSON.parse(line))
  return view.rows.flatMap((row) => {
    if (row.kind === 'input') return [textOf(row.message)]
    return row.kind === 'text' ? [row.text.pieces.join('')] : []
  })
}

/** The texts of the latest snapshot. */
function watchTexts(snapshots: AsyncIterable<ThreadSnapshot>) {
  const latest = { texts: [] as string[] }
  const reading = (async () => {
    for await (const snapshot of snapshots) latest.texts = textsIn(snapshot)
  })()
  // It ends with the server.
  reading.catch(() => {})
  return latest
}

function textsOn(page: Page): Promise<string[]> {
  return page.getByRole('article').locator('p').allTextContents()
}

/** The texts of the messages and answers on the page of the server. */
function rowsOn(page: Page): Promise<string[]> {
  return page.locator('.chat-row').locator('.chat-bubble p, .chat-text p').allTextContents()
}
