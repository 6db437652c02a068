import { agent, tool } from 'millrace'
import type { ScriptStep } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { isWhole } from '../size.ts'
import { describePage } from './page.test-kit.ts'
import { openReactDesk, reactChat } from './react.test-kit.ts'

const words = Array.from({ length: 30 }, (_, index) => `word${index + 1} `)
/** Slow enough for several frames. */
const slow: ScriptStep[] = words.flatMap((text): ScriptStep[] => [{ text }, { pause: 30 }])

/** A red pixel. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)

// React 19 in `npm test`, 18 nightly.
describe.each([isWhole ? '18' : '19'] as const)('React %s', (react) => {
  describePage('useThread()', (visit) => {
    test('streams an answer with two tools that run at the same time', async () => {
      const gate = Promise.withResolvers<string>()
      const look = tool({
        name: 'look',
        description: 'Looks',
        input: z.object({ at: z.string() }),
        run: () => gate.promise,
      })
      const { url } = await openReactDesk(react, {
        script: [
          [
            { text: 'One moment.' },
            { call: 'look', input: { at: 'left' } },
            { call: 'look', input: { at: 'right' } },
          ],
          'Both are here.',
        ],
        agents: (model) => ({ helper: agent({ model, tools: [look] }) }),
      })
      const page = await visit(url)
      const chat = reactChat(page)
      expect(await page.getByText(`React ${react}.`).count()).toBe(1)
      await chat.say('Where are they?')
      await chat.answers.getByText('One moment.').waitFor()
      for (const at of ['left', 'right'])
        await chat.answers.getByText(`look({"at":"${at}"}) running`).waitFor()
      gate.resolve('found')
      for (const at of ['left', 'right']) await chat.answers.getByText(`look({"at":"${at}"}) ok`).waitFor()
      await chat.answers.getByText('Both are here.').waitFor()
      await chat.until('idle')
      expect(await chat.user.count()).toBe(1)
      expect(await chat.answers.count()).toBe(1)
    })

    test('renders only the part that grows, and opens one connection in StrictMode', async () => {
      const first: ScriptStep[] = [{ text: 'Let me look.' }, { call: 'list_orders' }]
      const { url } = await openReactDesk(react, { script: ['Hello.', first, slow] })
      const page = await visit(url)
      const sockets: string[] = []
      page.on('websocket', (socket) => sockets.push(socket.url()))
      const chat = reactChat(page)
      await chat.say('Hi')
      await chat.answers.getByText('Hello.').waitFor()
      await chat.say('Count')
      await page.getByText('word2').waitFor()
      const before = await chat.renders()
      const growing = await page.locator('p[data-part]', { hasText: 'word2' }).getAttribute('data-part')
      await page.getByText('word25').waitFor()
      const after = await chat.renders()
      const rendered = Object.keys(after).filter((key) => after[key] !== before[key])
      const answer = await page.evaluate(() =>
        Object.keys(window.renders).findLast((key) => key.endsWith('-answer')),
      )
      expect(rendered.sort()).toEqual([answer, `part ${growing}`].sort())
      expect(sockets).toHaveLength(1)
      await chat.until('idle')
    })

    test('sends a message once, and shows it before the server has it', async () => {
      const { url, app } = await openReactDesk(react, { script: ['Hello.'] })
      const page = await visit(url)
      const chat = reactChat(page)
      const { promise: gate, resolve: open } = Promise.withResolvers<void>()
      await page.route('**/messages', async (route) => {
        await gate
        await route.continue()
      })
      await chat.say('Hi')
      await chat.user.and(page.locator('[data-status=sending]')).getByText('Hi').waitFor()
      await chat.until('queued')
      // It stays the same element when the log has it.
      await chat.user.evaluate((element) => element.setAttribute('data-mark', 'first'))
      open()
      await chat.answers.getByText('Hello.').waitFor()
      expect(await chat.user.count()).toBe(1)
      expect(await chat.user.getAttribute('data-status')).toBe('read')
      expect(await chat.user.getAttribute('data-mark')).toBe('first')
      const [thread] = (await app.threads()).threads
      const entries = await app.thread(thread?.id ?? '').read()
      expect(entries.filter(({ event }) => event.type === 'input')).toHaveLength(1)
    })

    test('shows a new thread under a new address, and starts another one without it', async () => {
      const { url } = await openReactDesk(react, { script: ['Hello.', 'Hello again.'] })
      const page = await visit(url)
      const chat = reactChat(page)
      await chat.say('Hi')
      await chat.answers.getByText('Hello.').waitFor()
      const first = page.url()
      await page.getByText('New chat').click()
      await expect.poll(() => chat.user.count()).toBe(0)
      await chat.say('Hi')
      await chat.answers.getByText('Hello again.').waitFor()
      await page.goto(first)
      await chat.answers.getByText('Hello.').waitFor()
      expect(await chat.answers.count()).toBe(1)
    })

    test('stops, answers again, and shows each version', async () => {
      const { url } = await openReactDesk(react, {
        script: [[{ text: 'Hm' }, { hang: true }], 'Second answer.'],
      })
      const page = await visit(url)
      const chat = reactChat(page)
      await chat.say('Go')
      await chat.answers.getByText('Hm').waitFor()
      await chat.button('Stop').click()
      await chat.answers.and(page.locator('[data-status=canceled]')).waitFor()
      await chat.button('Retry').click()
      await chat.answers.getByText('Second answer.').waitFor()
      await chat.answers.getByText('2 of 2').waitFor()
      await chat.button('Previous').click()
      await chat.answers.getByText('Hm').waitFor()
      await page.reload()
      await chat.answers.getByText('1 of 2').waitFor()
      await chat.button('Next').click()
      await chat.answers.getByText('Second answer.').waitFor()
      expect(await chat.answers.count()).toBe(1)
    })

    test('edits a message, and keeps the first version', async () => {
      const { url } = await openReactDesk(react, { script: ['First.', 'Second.'] })
      const page = await visit(url)
      const chat = reactChat(page)
      await chat.say('Tell me')
      await chat.answers.getByText('First.').waitFor()
      await chat.until('idle')
      await chat.button('Edit').click()
      await chat.user.getByText('Tell me, please').waitFor()
      await chat.answers.getByText('Second.').waitFor()
      expect(await chat.user.count()).toBe(1)
      await chat.button('Previous').click()
      await chat.answers.getByText('First.').waitFor()
      await chat.user.getByText('Tell me', { exact: true }).waitFor()
    })

    test('steers a run, queues a message and interrupts', async () => {
      const long: ScriptStep[] = [{ call: 'track_parcel', input: { id: 'ORD-42' } }]
      const { url } = await openReactDesk(react, {
        script: [long, [{ text: 'Steered.' }, { hang: true }], 'Interrupted.'],
      })
      const page = await visit(url)
      const chat = reactChat(page)
      await chat.say('Track it')
      await chat.answers.getByText('running').waitFor()
      await chat.say('And be quick', 'steer')
      await chat.user.and(page.locator('[data-status=queued]')).getByText('And be quick').waitFor()
      await chat.answers.getByText('Steered.').waitFor()
      await chat.say('Never mind', 'interrupt')
      await chat.answers.getByText('Interrupted.').waitFor()
      expect(await page.getByRole('article').locator('p').allInnerTexts()).toEqual([
        'Track it',
        'And be quick',
        'Steered.',
        'Never mind',
        'Interrupted.',
      ])
    })

    test('runs a tool in the page, once, also with two tabs', async () => {
      const { url } = await openReactDesk(react, {
        script: ['Hello.', [{ call: 'locate', input: { exact: true } }], 'You are in Bern.'],
      })
      const page = await visit(url)
      const chat = reactChat(page)
      await chat.say('Hi')
      await chat.answers.getByText('Hello.').waitFor()
      const other = reactChat(await page.context().newPage())
      await other.page.goto(page.url())
      await other.answers.getByText('Hello.').waitFor()
      await chat.say('Where am I?')
      for (const { answers } of [chat, other]) {
        await answers.getByText('ok [{"type":"json","value":{"city":"Bern"}}]').waitFor()
        await answers.getByText('You are in Bern.').waitFor()
      }
      expect([...(await chat.toolCalls()), ...(await other.toolCalls())]).toEqual([{ exact: true }])
    })

    test('waits for a component that responds to a call', async () => {
      const { url } = await openReactDesk(react, { script: [[{ call: 'pick_color' }], 'Blue it is.'] })
      const page = await visit(url)
      const chat = reactChat(page)
      await chat.say('Paint it')
      await chat.until('waiting')
      await page.reload()
      await chat.button('Blue').click()
      await chat.answers.getByText('Blue it is.').waitFor()
      await chat.answers.getByText('ok [{"type":"json","value":{"color":"blue"}}]').waitFor()
    })

    test('sends an image', async () => {
      const { url, provider } = await openReactDesk(react, { script: ['A red pixel.'] })
      const page = await visit(url)
      const chat = reactChat(page)
      await page.getByLabel('Image').setInputFiles({ name: 'red.png', mimeType: 'image/png', buffer: pixel })
      await chat.say('What is it?')
      await chat.answers.getByText('A red pixel.').waitFor()
      const source = await page.getByAltText('Attached').getAttribute('src')
      expect(source).toBe(`data:image/png;base64,${pixel.toString('base64')}`)
      expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain(pixel.toString('base64'))
    })

    test('shows why a run failed, and tries again', async () => {
      const { url } = await openReactDesk(react, {
        script: [[{ error: { code: 'auth', message: 'the key is wrong', status: 401 } }], 'Now it works.'],
      })
      const page = await visit(url)
      const chat = reactChat(page)
      await chat.say('Hi')
      await chat.answers.and(page.locator('[data-status=failed]')).waitFor()
      expect(await chat.answers.locator('strong').textContent()).toContain('the key is wrong')
      await chat.button('Retry').click()
      await chat.answers.getByText('Now it works.').waitFor()
    })
  })
})
