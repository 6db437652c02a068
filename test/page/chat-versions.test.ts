import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { chatOf, sent } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, screenshot, seen } from './page.test-kit.ts'

const previous = { name: 'Previous version', exact: true }
const next = { name: 'Next version', exact: true }

/** The texts of the messages and answers, in order. */
async function conversation(page: Page): Promise<string[]> {
  const rows = page.locator('.chat-row:is([data-kind="input"], [data-kind="text"])')
  return (await rows.allInnerTexts()).map((text) => text.trim().split('\n').at(-1) ?? '')
}

/** A page with a thread in which the agent has answered `First` and `Second`. */
async function answered(visit: (url: string) => Promise<Page>, ...more: string[]) {
  const desk = await openDesk({ script: ['One.', 'Two.', ...more] })
  const page = await visit(desk.url)
  const chat = chatOf(page)
  for (const [index, message] of ['First', 'Second'].entries()) {
    await chat.say(message)
    await chat.ends(index + 1)
  }
  return { desk, page, chat, retry: (nth: number) => chat.button('Retry').nth(nth).click() }
}

describePage('versions of an answer', (visit) => {
  test('Retry answers again in place, and the earlier answer can be shown again', async () => {
    const { desk, page, chat, retry } = await answered(visit, 'Another two.', 'Three.')
    const id = chat.threadId()
    await retry(1)
    await chat.rows('text').getByText('Another two.').waitFor()
    expect(await conversation(page)).toEqual(['First', 'One.', 'Second', 'Another two.'])
    expect(chat.threadId()).toBe(id)
    await page.getByText('Version 2 / 2').waitFor()
    await screenshot(page, 'chat-versions')

    const back = page.getByRole('button', previous)
    await back.click()
    await page.getByText('Version 1 / 2').waitFor()
    expect(await conversation(page)).toEqual(['First', 'One.', 'Second', 'Two.'])
    expect(await back.isDisabled()).toBe(true)
    // The conversation continues with the version that is shown, also for the model.
    await chat.say('Third')
    await chat.rows('text').getByText('Three.').waitFor()
    expect(sent(desk.provider, 4)).toContain('Two.')
    expect(sent(desk.provider, 4)).not.toContain('Another two.')

    await page.getByRole('button', next).click()
    await page.getByText('Version 2 / 2').waitFor()
    expect(await conversation(page)).toEqual(['First', 'One.', 'Second', 'Another two.'])
  })

  test('survive a reload, and another tab sees the same', async () => {
    const { page, chat, retry } = await answered(visit, 'Another two.')
    const other = await page.context().newPage()
    await other.goto(page.url())
    await seen(other).getByText('Two.').waitFor()
    await retry(1)
    await chat.rows('text').getByText('Another two.').waitFor()
    await seen(other).getByText('Another two.').waitFor()
    await other.getByRole('button', previous).click()
    await page.getByText('Version 1 / 2').waitFor()
    await page.reload()
    await page.getByText('Version 1 / 2').waitFor()
    expect(await conversation(page)).toEqual(['First', 'One.', 'Second', 'Two.'])
  })

  test('an earlier answer that is retried takes along what follows it, and brings it back', async () => {
    const { page, chat, retry } = await answered(visit, 'Another one.')
    await retry(0)
    await chat.rows('text').getByText('Another one.').waitFor()
    expect(await conversation(page)).toEqual(['First', 'Another one.'])
    await page.getByRole('button', previous).click()
    await page.getByText('Version 1 / 2').waitFor()
    expect(await conversation(page)).toEqual(['First', 'One.', 'Second', 'Two.'])
  })

  test('switching keeps the focus on the button, and is announced', async () => {
    const { page, chat, retry } = await answered(visit, 'Another two.', 'A third two.')
    for (const text of ['Another two.', 'A third two.']) {
      await retry(1)
      await chat.rows('text').getByText(text).waitFor()
      await chat.ends(2)
    }
    await page.getByText('Version 3 / 3').waitFor()
    await page.getByRole('button', previous).focus()
    for (const shown of ['Version 2 / 3', 'Version 1 / 3']) {
      await page.keyboard.press('Enter')
      await page.getByText(shown).waitFor()
    }
    await expect.poll(chat.announced).toContain('The conversation was rewound.')
  })

  test('the inspector still has all runs', async () => {
    const { page, chat, retry } = await answered(visit, 'Another two.')
    await retry(1)
    await chat.rows('text').getByText('Another two.').waitFor()
    await chat.ends(2)
    await page.getByRole('button', { name: 'Timeline', exact: true }).last().click()
    const runs = page.getByRole('combobox', { name: 'Run' }).getByText(/^Run \d/)
    await expect.poll(() => runs.count()).toBe(3)
  })
})

describePage('editing a message', (visit) => {
  test('replaces it and what follows, and the original can be shown again', async () => {
    const { desk, page, chat } = await answered(visit, 'Another two.')
    const id = chat.threadId()
    await chat.rows('input').nth(1).getByRole('button', { name: 'Edit message' }).click()
    const box = page.getByRole('textbox', { name: 'Edit your message' })
    expect(await box.inputValue()).toBe('Second')
    await box.fill('Second, but better')
    await screenshot(page, 'chat-edit')
    await box.press('Enter')
    await chat.rows('text').getByText('Another two.').waitFor()
    expect(await conversation(page)).toEqual(['First', 'One.', 'Second, but better', 'Another two.'])
    expect(chat.threadId()).toBe(id)
    expect(sent(desk.provider, 3)).not.toContain('Two.')
    await page.getByRole('button', previous).click()
    await page.getByText('Version 1 / 2').waitFor()
    expect(await conversation(page)).toEqual(['First', 'One.', 'Second', 'Two.'])
  })

  test('works for the first message too', async () => {
    const { page, chat } = await answered(visit, 'Another one.')
    await chat.rows('input').first().getByRole('button', { name: 'Edit message' }).click()
    await page.getByRole('textbox', { name: 'Edit your message' }).fill('Start over')
    await page.locator('.chat-edit').getByRole('button', { name: 'Send' }).click()
    await chat.rows('text').getByText('Another one.').waitFor()
    expect(await conversation(page)).toEqual(['Start over', 'Another one.'])
    await page.getByRole('button', previous).click()
    await page.getByText('Version 1 / 2').waitFor()
    expect(await conversation(page)).toEqual(['First', 'One.', 'Second', 'Two.'])
  })

  test('is canceled with Escape, and changes nothing', async () => {
    const { desk, page, chat } = await answered(visit)
    const { head } = await desk.app.thread(chat.threadId()).info()
    await chat.rows('input').nth(1).getByRole('button', { name: 'Edit message' }).click()
    const box = page.getByRole('textbox', { name: 'Edit your message' })
    await box.fill('Something else')
    await box.press('Escape')
    await box.waitFor({ state: 'detached' })
    expect(await conversation(page)).toEqual(['First', 'One.', 'Second', 'Two.'])
    expect((await desk.app.thread(chat.threadId()).info()).head).toBe(head)
  })

  test('restores the conversation if the new message cannot be sent', async () => {
    const tolerant = (url: string) => visit(url, { tolerates: [/400 \(Bad Request\)/] })
    const { page, chat } = await answered(tolerant, 'Another two.')
    await page.route('**/messages', (route) =>
      route.fulfill({ status: 400, json: { error: { code: 'invalid_input', message: 'Too clever.' } } }),
    )
    await chat.rows('input').nth(1).getByRole('button', { name: 'Edit message' }).click()
    await page.getByRole('textbox', { name: 'Edit your message' }).fill('Clever')
    await page.keyboard.press('Enter')
    await page.getByText('Not sent: Too clever.').waitFor()
    await chat.rows('text').getByText('Two.', { exact: true }).waitFor()
    await page.unroute('**/messages')
    const box = page.getByRole('textbox', { name: 'Edit your message' })
    expect(await box.inputValue()).toBe('Clever')
    await box.press('Enter')
    await chat.rows('text').getByText('Another two.').waitFor()
  })
})
