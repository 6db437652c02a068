import type { ScriptStep } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cuttingProxy } from '../../../packages/millrace/src/client/cutting-proxy.test-kit.ts'
import { describePage } from '../page.test-kit.ts'
import { reactChat } from '../react.test-kit.ts'
import { connectionErrors, slow } from '../survive.test-kit.ts'
import { type ClientServer, openClientServer, type PageName } from './clients.test-kit.ts'

export interface ChatClient {
  readonly page: PageName
  /** The query of the page's address. */
  readonly query?: string
  /** Shows what other clients have sent without a refresh. */
  readonly follows?: boolean
}

const whole = slow.map((step) => ('text' in step ? step.text : '')).join('')

/** Zod, which is in `ai`, tries whether it may compile its schemas. */
export const noEval = /'script-src' was not explicitly set/

/** A red pixel. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)

/** What every client must be able to do, in a browser, with one server for all tests. */
export function describeClient(name: string, { page: pageName, query = '', follows }: ChatClient): void {
  describePage(name, (visit) => {
    let server: ClientServer
    beforeAll(async () => {
      server = await openClientServer(pageName)
    })
    afterAll(() => server?.close())

    /** A page with a new chat. */
    async function open(
      options: Parameters<typeof visit>[1] & { readonly api?: string; readonly url?: string } = {},
    ) {
      const { api, url = server.url, tolerates = [], ...more } = options
      const params = new URLSearchParams(query)
      if (api) params.set('api', api)
      return chatOn(
        await visit(`${url}/${pageName}?${params}`, {
          tolerates: [noEval, ...tolerates],
          ...more,
        }),
      )
    }

    function chatOn(page: Page) {
      const chat = reactChat(page)
      return {
        ...chat,
        async say(text: string) {
          await page.getByLabel('Message').fill(text)
          await chat.button('Send').click()
        },
        texts: () => page.getByRole('article').locator('p').allTextContents(),
        /** Loads the page again. Resolves when it has resumed the answer to its end. */
        async reload() {
          await page.reload()
          if (!follows) await page.locator('body[data-finished]').waitFor()
        },
        async refresh() {
          if (follows) return
          await chat.button('Refresh').click()
          await page.locator('body[data-finished]').waitFor()
        },
      }
    }

    test('streams an answer with two tools that run at the same time', async () => {
      const calls: ScriptStep[] = ['left', 'right'].map((at) => ({ call: 'look', input: { at } }))
      server.script('Where are they?', [[{ text: 'One moment.' }, ...calls], 'Both are here.'])
      const { say, answers, user, until } = await open()
      await say('Where are they?')
      await answers.getByText('One moment.').waitFor()
      for (const at of ['left', 'right']) await answers.getByText(`look({"at":"${at}"}) running`).waitFor()
      server.open()
      for (const at of ['left', 'right']) await answers.getByText(`look({"at":"${at}"}) ok`).waitFor()
      await answers.getByText('Both are here.').waitFor()
      await until('idle')
      expect(await user.count()).toBe(1)
      expect(await answers.count()).toBe(1)
    })

    test('approves a call after its server was killed and another one started', async () => {
      server.script('My money, please', [
        [{ text: 'May I?' }, { call: 'refund', input: { id: 'ORD-42' } }],
        'It is refunded.',
      ])
      const { say, button, answers, texts } = await open({ tolerates: [connectionErrors] })
      await say('My money, please')
      await button('Allow').waitFor()
      await server.restart()
      await button('Allow').click()
      await answers.getByText('It is refunded.').waitFor()
      await answers.getByText('"refunded":"ORD-42"').waitFor()
      expect(await texts()).toEqual(['My money, please', 'May I?', 'It is refunded.'])
      expect(await answers.count()).toBe(1)
    })

    test('continues an answer after a reload in the middle of it', async () => {
      server.script('Count', [slow])
      const { say, answers, reload, texts } = await open({ api: '/api/patient' })
      await say('Count')
      await answers.getByText('word5').waitFor()
      await reload()
      await answers.getByText('word40').waitFor()
      expect(await texts()).toEqual(['Count', whole])
    })

    test('continues an answer after a network outage', async () => {
      server.script('Count on', [slow])
      await using proxy = await cuttingProxy({ port: Number(new URL(server.url).port) })
      const { page, say, answers, until, texts } = await open({
        url: proxy.url,
        api: '/api/patient',
        tolerates: [connectionErrors],
      })
      await say('Count on')
      await answers.getByText('word5').waitFor()
      // A browser that is offline does not report that a WebSocket was cut.
      proxy.isDown = true
      proxy.cut()
      await page.getByText(/^(error|reconnecting)$/).waitFor()
      await page.context().setOffline(true)
      proxy.isDown = false
      await page.context().setOffline(false)
      await answers.getByText('word40').waitFor()
      await until('idle')
      expect(await texts()).toEqual(['Count on', whole])
    })

    test('stops the run on the server', async () => {
      server.script('Go on forever', [[{ text: 'And so' }, { hang: true }]])
      const { say, answers, button, until } = await open()
      await say('Go on forever')
      await answers.getByText('And so').waitFor()
      await button('Stop').click()
      await until('idle')
      const thread = await server.latestThread()
      await expect
        .poll(async () => (await thread.read()).at(-1)?.event)
        .toMatchObject({
          type: 'run-end',
          outcome: 'canceled',
        })
      expect(await answers.getByText('And so').count()).toBe(1)
    })

    test('answers again', async () => {
      server.script('Tell me', ['First answer.', 'Second answer.'])
      const { say, answers, button, until, reload, texts } = await open()
      await say('Tell me')
      await answers.getByText('First answer.').waitFor()
      await until('idle')
      await button('Retry').click()
      await answers.getByText('Second answer.').waitFor()
      await until('idle')
      await reload()
      await answers.getByText('Second answer.').waitFor()
      expect(await texts()).toEqual(['Tell me', 'Second answer.'])
    })

    test('edits a message', async () => {
      server.script('Hello', ['Hello.'])
      server.script('Give me one', ['Which one?'])
      server.script('Give me one, please', ['Here it is.'])
      const { say, answers, button, until, reload, texts } = await open()
      await say('Hello')
      await answers.getByText('Hello.').waitFor()
      await until('idle')
      await say('Give me one')
      await answers.getByText('Which one?').waitFor()
      await until('idle')
      await button('Edit').last().click()
      await answers.getByText('Here it is.').waitFor()
      await until('idle')
      await reload()
      await answers.getByText('Here it is.').waitFor()
      expect(await texts()).toEqual(['Hello', 'Hello.', 'Give me one, please', 'Here it is.'])
      expect(JSON.stringify(server.provider.requests.at(-1)?.body)).not.toContain('Which one?')
    })

    test('runs a tool in the page', async () => {
      server.script('Where am I?', [[{ call: 'locate', input: { exact: true } }], 'You are in Bern.'])
      const { say, answers, until, texts } = await open()
      await say('Where am I?')
      await answers.getByText('You are in Bern.').waitFor()
      await answers.getByText('locate({"exact":true}) ok').waitFor()
      await until('idle')
      expect(await texts()).toEqual(['Where am I?', 'You are in Bern.'])
      expect(await answers.count()).toBe(1)
      expect(JSON.stringify(server.provider.requests.at(-1)?.body)).toContain('{\\"city\\":\\"Bern\\"}')
    })

    test('sends an image', async () => {
      server.script('What is it?', ['A red pixel.'])
      const { page, say, answers } = await open()
      await page.getByLabel('Image').setInputFiles({ name: 'red.png', mimeType: 'image/png', buffer: pixel })
      await say('What is it?')
      await answers.getByText('A red pixel.').waitFor()
      const source = await page.getByAltText('Attached').getAttribute('src')
      expect(source).toBe(`data:image/png;base64,${pixel.toString('base64')}`)
      expect(JSON.stringify(server.provider.requests.at(-1)?.body)).toContain(pixel.toString('base64'))
    })

    test('shows the same conversation in two tabs', async () => {
      server.script('Count for two', [slow])
      server.script('And from here', ['Also here.'])
      server.script('And from there', ['Also there.'])
      const here = await open({ api: '/api/patient' })
      await here.say('Count for two')
      await here.answers.getByText('word5').waitFor()
      const there = chatOn(await here.page.context().newPage())
      await there.page.goto(here.page.url())
      await there.answers.getByText('word40').waitFor()
      await there.until('idle')
      await there.say('And from there')
      await there.answers.getByText('Also there.').waitFor()
      // This tab may not know of that yet.
      await here.until('idle')
      await here.say('And from here')
      await here.answers.getByText('Also here.').waitFor()
      for (const tab of [here, there]) {
        await tab.refresh()
        await tab.answers.getByText('Also here.').waitFor()
        const conversation = ['Count for two', whole, 'And from there', 'Also there.']
        await expect.poll(tab.texts).toEqual([...conversation, 'And from here', 'Also here.'])
      }
    })

    test('shows why a run failed, and tries again', async () => {
      server.script('Hi', [
        [{ error: { code: 'auth', message: 'the key is wrong', status: 401 } }],
        'Now it works.',
      ])
      const { page, say, answers, button, until, texts } = await open()
      await say('Hi')
      await page.getByText(/the key is wrong/).waitFor()
      await button('Retry').last().click()
      await answers.getByText('Now it works.').waitFor()
      await until('idle')
      expect(await texts()).toEqual(['Hi', 'Now it works.'])
      expect(await page.getByText(/the key is wrong/).count()).toBe(0)
    })
  })
}
