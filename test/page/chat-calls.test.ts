import { agent, tool } from 'millrace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, screenshot } from './page.test-kit.ts'

const input = z.object({ id: z.string() })

/** A server whose agent looks up orders. An order can be held back until `release` is called. */
async function lookUpDesk(script: Parameters<typeof openDesk>[0]['script']) {
  const gate = Promise.withResolvers<void>()
  const look = tool({
    name: 'look_up_order',
    description: 'l',
    input,
    async run({ id }) {
      if (id === 'ORD-0') await gate.promise
      if (id === 'ORD-99') throw new Error('no such order')
      return { id, item: 'Desk lamp', parts: Array.from({ length: 5 }, (_, n) => ({ n, of: 'lamp' })) }
    },
  })
  const desk = await openDesk({ script, agents: (model) => ({ helper: agent({ model, tools: [look] }) }) })
  return { ...desk, release: () => gate.resolve() }
}

const call = (id: string) => ({ call: 'look_up_order', input: { id } })

describePage('finished calls', (visit) => {
  test('are one line that opens, and several in a row are a group', async () => {
    const desk = await lookUpDesk([
      [call('ORD-45')],
      [{ text: 'More.' }, call('ORD-1'), call('ORD-2'), call('ORD-0'), call('ORD-99')],
      'Done.',
    ])
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Go')
    const line = page.getByRole('button', { name: /^Look up order ORD-45 · Done( [\d.]+ m?s)?$/ })
    await line.waitFor()
    // Nothing is cut where there is room.
    const title = line.locator('.chat-fold-title')
    expect(await title.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
    // A running or failed call is never hidden, and nothing is grouped before something follows.
    const running = page.getByRole('button', { name: /^Look up order ORD-0 · Running/ })
    await running.waitFor()
    await page.getByRole('button', { name: /^Look up order ORD-1 · Done/ }).waitFor()
    expect(await page.getByRole('button', { name: /×/ }).count()).toBe(0)

    // The focus moves to the group that its row joins.
    await running.focus()
    desk.release()
    await chat.ends(1)
    const group = page.getByRole('button', { name: /^Look up order ×3 · [\d.]+ m?s$/ })
    await group.waitFor()
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('3 tool calls')
    await page.getByRole('button', { name: 'Look up order ORD-99 · Failed · no such order' }).waitFor()

    // Only with the keyboard.
    await group.focus()
    await page.keyboard.press('Enter')
    expect(await group.getAttribute('aria-expanded')).toBe('true')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const inside = page.getByRole('article', { name: '3 tool calls' }).getByRole('article').first()
    expect(await inside.getByText('Input', { exact: true }).count()).toBe(1)
    expect(await inside.locator('.chat-json-name').first().textContent()).toBe('"id"')
    await screenshot(page, 'chat-group')
    const output = inside.getByRole('figure', { name: 'Output' })
    await output.getByText('"Desk lamp"').waitFor()
    await inside.getByText('Output', { exact: true }).click()
    await output.waitFor({ state: 'hidden' })
    await group.focus()
    await page.keyboard.press('Enter')
    await inside.waitFor({ state: 'detached' })
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-expanded'))).toBe('false')
  })

  test('that were blocked for the same reason are one line, too', async () => {
    // At most 32 calls are run in one round.
    const calls = Array.from({ length: 34 }, (_, index) => call(`ORD-${index + 1}`))
    const desk = await lookUpDesk([calls, 'Done.'])
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Go')
    await chat.ends(1)
    await page.getByRole('button', { name: /^Look up order ×32 · [\d.]+ m?s$/ }).waitFor()
    const blocked = page.getByRole('button', {
      name: /^Look up order ×2 · Blocked · at most 32 calls/,
    })
    await blocked.click()
    await page.getByRole('button', { name: /^Look up order ORD-34 · Blocked · at most/ }).waitFor()
  })

  test('open in place: the line that was clicked does not move', async () => {
    const desk = await lookUpDesk([
      [{ text: 'A line.\n\n'.repeat(40) }, call('ORD-45')],
      [{ text: 'Soon. ' }, call('ORD-0')],
      'A line.\n\n'.repeat(40),
      'One.',
      'Two.',
      'Three.',
    ])
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Go')
    const line = page.getByRole('button', { name: /^Look up order ORD-45/ })
    await chat.card('look_up_order').nth(1).waitFor()
    const top = () => line.evaluate((element) => Math.round(element.getBoundingClientRect().top))
    const before = await top()
    await line.click()
    await chat.button('Jump to latest').waitFor()
    expect(await top()).toBe(before)
    // Nor when the answer continues below.
    desk.release()
    await expect.poll(chat.announced).toContain('Done.')
    expect(await top()).toBe(before)
    // Open lines stay open while they are out of view.
    for (const answer of ['One.', 'Two.', 'Three.']) {
      await chat.say(`And?${'\n.'.repeat(30)}`)
      await chat.rows('text').getByText(answer).waitFor()
    }
    await line.waitFor({ state: 'detached' })
    await page.mouse.move(600, 300)
    await expect
      .poll(async () => {
        await page.mouse.wheel(0, -300)
        return line.count()
      })
      .toBe(1)
    expect(await line.getAttribute('aria-expanded')).toBe('true')
  })
})
