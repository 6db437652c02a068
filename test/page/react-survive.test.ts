import type { ScriptStep } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { isWhole } from '../size.ts'
import { describePage } from './page.test-kit.ts'
import { openReactDesk, openReactDeskProcess, reactChat } from './react.test-kit.ts'
import { connectionErrors, slow } from './survive.test-kit.ts'

const whole = Array.from({ length: 40 }, (_, index) => `word${index + 1} `).join('')

// React 19 in `npm test`, 18 nightly.
describe.each([isWhole ? '18' : '19'] as const)('React %s: an answer continues', (react) => {
  describePage('useThread()', (visit) => {
    test('after a reload in the middle of it', async () => {
      const { url } = await openReactDesk(react, { script: [slow] })
      const page = await visit(url)
      const chat = reactChat(page)
      await chat.say('Count')
      await chat.answers.getByText('word5').waitFor()
      await page.reload()
      await chat.answers.getByText('word40').waitFor()
      expect(await chat.answers.locator('p').textContent()).toBe(whole)
    })

    test('after a network outage, and a message that was sent meanwhile arrives', async () => {
      const { url } = await openReactDesk(react, { script: [slow, 'Second answer.'] })
      const page = await visit(url, { tolerates: [connectionErrors] })
      const chat = reactChat(page)
      await chat.say('Count')
      await chat.answers.getByText('word3').waitFor()
      await page.context().setOffline(true)
      await chat.connection.getByText('reconnecting').waitFor()
      await chat.say('And then?')
      await chat.user.and(page.locator('[data-status=sending]')).waitFor()
      await page.context().setOffline(false)
      await chat.connection.getByText('open').waitFor()
      await chat.answers.getByText('Second answer.').waitFor()
      expect(await chat.answers.locator('p').allTextContents()).toEqual([whole, 'Second answer.'])
      expect(await chat.user.locator('p').allTextContents()).toEqual(['Count', 'And then?'])
    })

    test('with an approval, after its server was killed and another one started', async () => {
      const refund: ScriptStep[] = [{ call: 'refund_order', input: { id: 'ORD-42' } }]
      const desk = await openReactDeskProcess(react, { script: [refund, 'Refunded.'] })
      const page = await visit(desk.url, { tolerates: [connectionErrors] })
      const chat = reactChat(page)
      await chat.say('My money, please')
      await chat.button('Allow').waitFor()
      await desk.kill()
      await chat.connection.getByText('reconnecting').waitFor()
      await desk.start()
      await chat.connection.getByText('open').waitFor()
      await chat.button('Allow').click()
      await chat.answers.getByText('Refunded.').waitFor()
      await chat.answers.getByText('"refunded":').waitFor()
    })

    test('in the middle of a sentence, after its server was killed and another one started', async () => {
      const desk = await openReactDeskProcess(react, { script: [slow, slow] })
      const page = await visit(desk.url, { tolerates: [connectionErrors] })
      const chat = reactChat(page)
      await chat.say('Count')
      await chat.answers.getByText('word5').waitFor()
      await desk.kill()
      await chat.connection.getByText('reconnecting').waitFor()
      await desk.start()
      await chat.answers.getByText('word40').waitFor()
      expect(await chat.answers.locator('p').textContent()).toBe(whole)
      await chat.answers.getByText('Another one picked this up').waitFor()
    })
  })
})
