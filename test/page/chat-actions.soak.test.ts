import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { chatOf } from './chat.test-kit.ts'
import { refundDesk } from './chat-actions.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage } from './page.test-kit.ts'

/** Lets a test hold back the events that the server sends to this page. */
async function holdableEvents(page: Page) {
  let held: (() => void)[] | undefined
  await page.routeWebSocket(/\/socket/, (socket) => {
    socket.connectToServer().onMessage((message) => {
      if (held) held.push(() => socket.send(message))
      else socket.send(message)
    })
  })
  await page.reload()
  return {
    hold() {
      held = []
    },
    release() {
      for (const send of held ?? []) send()
      held = undefined
    },
  }
}

describePage('a call that waits for approval', (visit) => {
  test('shows invisible characters of its arguments, and runs with the original', async () => {
    const desk = await refundDesk('ORD-\u202e24\u{e0041}')
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    await chat.card('refund_order').getByText('ORD-\\u202e24\\udb40\\udc41', { exact: true }).waitFor()
    await chat.button('Edit arguments').click()
    const input = page.getByRole('textbox', { name: /^Arguments/ })
    expect(await input.inputValue()).toContain('"ORD-\\u202e24\\udb40\\udc41"')
    await chat.button('Allow').click()
    await chat.ends(1)
    expect(desk.paid).toEqual([{ id: 'ORD-\u202e24\u{e0041}', amount: 100 }])
  })

  test('keeps the focus in its card after a decision', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    await chat.button('Allow').press('Enter')
    await chat.ends(1)
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Tool refund_order')
  })

  test('keeps unsent changes while it is scrolled out of view', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    const input = page.getByRole('textbox', { name: /^Arguments/ })
    const reason = page.getByRole('textbox', { name: /^Reason/ })
    await chat.button('Edit arguments').click()
    await chat.button('Add a reason').click()
    await input.fill('{ "id": "ORD-42", "amount": 40 }')
    await reason.fill('Too late')
    await chat.message.focus()
    for (let index = 0; index < 20; index++) await chat.say(`And ${index}${'\n.'.repeat(20)}`)
    await chat.rows('input').getByText('And 19').waitFor()
    await input.waitFor({ state: 'detached' })
    await page.locator('.chat-list').evaluate((list) => list.scrollTo(0, 0))
    await input.waitFor()
    expect(await input.inputValue()).toContain('40')
    expect(await reason.inputValue()).toBe('Too late')
  })

  test('shows a decision made in another tab', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    await chat.button('Allow').waitFor()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await chatOf(other).button('Deny').click()
    await chat.card('refund_order').getByText('Denied', { exact: true }).waitFor()
    expect(await chat.button('Allow').count()).toBe(0)
  })

  test('shows an error if another tab has decided differently and this one does not know yet', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url, { tolerates: [/409/] })
    const events = await holdableEvents(page)
    const chat = chatOf(page)
    await chat.say('My money, please')
    await chat.button('Allow').waitFor()
    events.hold()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await chatOf(other).button('Deny').click()
    await chatOf(other).ends(1)
    await chat.button('Allow').click()
    const card = chat.card('refund_order')
    await card
      .getByRole('alert')
      .getByText(/already denied|no longer waiting/)
      .waitFor()
    expect(desk.paid).toEqual([])
    events.release()
    await card.getByText('Denied', { exact: true }).waitFor()
  })
})

describePage('during a run', (visit) => {
  test('the focus stays in the chat after the Stop button disappears', async () => {
    const desk = await openDesk({ script: [[{ text: 'Hm' }, { hang: true }]] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Continue')
    await chat.button('Stop').press('Enter')
    await chat.ends(1)
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('chat')
  })
})
