import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { chatOf } from './chat.test-kit.ts'
import { refundDesk } from './chat-actions.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage } from './page.test-kit.ts'

/** A network that can keep back what the server tells this page, and nothing else. */
async function holdNews(page: Page) {
  let kept: (() => void)[] | undefined
  await page.routeWebSocket(/\/socket/, (socket) => {
    socket.connectToServer().onMessage((message) => {
      if (kept) kept.push(() => socket.send(message))
      else socket.send(message)
    })
  })
  await page.reload()
  return {
    hold() {
      kept = []
    },
    release() {
      for (const tell of kept ?? []) tell()
      kept = undefined
    },
  }
}

describePage('a call that waits for a person', (visit) => {
  test('shows what cannot be seen in its input, and is allowed as it was', async () => {
    const desk = await refundDesk('ORD-\u202e24\u{e0041}')
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    const input = page.getByRole('textbox', { name: /^Input/ })
    expect(await input.inputValue()).toContain('"ORD-\\u202e24\\udb40\\udc41"')
    await chat.button('Allow').click()
    await chat.ends(1)
    expect(desk.paid).toEqual([{ id: 'ORD-\u202e24\u{e0041}', amount: 100 }])
  })

  test('keeps the focus near when it is decided', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    await chat.button('Allow').press('Enter')
    await chat.ends(1)
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Tool refund_order')
  })

  test('keeps what was written in it while it is out of sight', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    const input = page.getByRole('textbox', { name: /^Input/ })
    const reason = page.getByRole('textbox', { name: /^Reason/ })
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

  test('shows what was decided elsewhere', async () => {
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

  test('says so when it was decided otherwise in another tab and the news has not come yet', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url, { tolerates: [/409/] })
    const news = await holdNews(page)
    const chat = chatOf(page)
    await chat.say('My money, please')
    await chat.button('Allow').waitFor()
    news.hold()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await chatOf(other).button('Deny').click()
    await chatOf(other).ends(1)
    await chat.button('Allow').click()
    const card = chat.card('refund_order')
    await card
      .getByRole('alert')
      .getByText(/declined already|any more/)
      .waitFor()
    expect(desk.paid).toEqual([])
    news.release()
    await card.getByText('Denied', { exact: true }).waitFor()
  })
})

describePage('while a run goes on', (visit) => {
  test('the focus stays in the chat when the button that stopped it is gone', async () => {
    const desk = await openDesk({ script: [[{ text: 'Hm' }, { hang: true }]] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Go on')
    await chat.button('Stop').press('Enter')
    await chat.ends(1)
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('chat')
  })
})
