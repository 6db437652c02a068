import { agent, tool } from 'millrace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { seriousProblems } from './accessibility.test-kit.ts'
import { chatOf } from './chat.test-kit.ts'
import { refundDesk } from './chat-actions.test-kit.ts'
import { openDesk, openDeskProcess } from './desk.ts'
import { clipboard } from './detail.test-kit.ts'
import { copied, describePage, phone, screenshot } from './page.test-kit.ts'
import { connectionErrors } from './survive.test-kit.ts'

describePage('an answer', (visit) => {
  test('has one row of actions, which copies its text and takes feedback', async () => {
    const desk = await openDesk({
      script: [
        [{ text: 'One moment.' }, { call: 'list_orders' }],
        [{ reasoning: 'Hm' }, { text: 'Two orders.' }],
      ],
    })
    const page = await visit(desk.url, clipboard)
    const chat = chatOf(page)
    await chat.say('Go')
    await chat.ends(1)
    const end = chat.rows('end')
    // Text in the middle of the answer has none.
    expect(await chat.rows('text').getByRole('button').count()).toBe(0)
    expect(await copied(end.getByRole('button', { name: 'Copy answer' }))).toBe('One moment.\n\nTwo orders.')

    const feedback = () => desk.app.thread(chat.threadId()).read()
    const last = async () => (await feedback()).findLast(({ event }) => event.type === 'feedback')?.event
    const [up, down] = ['Good answer', 'Bad answer'].map((name) => end.getByRole('button', { name }))
    if (!up || !down) throw new Error('there are two thumbs')
    await down.click()
    const note = page.getByRole('textbox', { name: 'Note (optional)' })
    await note.fill('Too short')
    await note.press('Enter')
    await end.getByText('Your note: Too short').waitFor()
    expect(await down.getAttribute('aria-pressed')).toBe('true')
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('End of run')
    await screenshot(page, 'chat-feedback')
    await page.reload()
    await end.getByText('Your note: Too short').waitFor()
    await up.click()
    await expect.poll(last).toMatchObject({ rating: 'up', note: 'Too short' })
    await expect.poll(() => up.getAttribute('aria-pressed')).toBe('true')
    expect(await down.getAttribute('aria-pressed')).toBe('false')
    await note.press('Escape')
    await note.waitFor({ state: 'detached' })
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('End of run')
    // Pressed again, it is withdrawn.
    await up.click()
    await expect.poll(() => up.getAttribute('aria-pressed')).toBe('false')
    expect(await last()).not.toHaveProperty('rating')
    expect(await end.getByText('Your note').count()).toBe(0)
  })

  test('has actions that are hidden until they are needed, but not from keys or fingers', async () => {
    const desk = await openDesk({ script: ['One.', 'Two.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    for (const count of [1, 2]) {
      await chat.say('Go')
      await chat.ends(count)
    }
    await page.mouse.move(0, 0)
    const actions = chat.rows('end').first().locator('.chat-actions')
    const opacity = () => actions.evaluate((element) => getComputedStyle(element).opacity)
    await expect.poll(opacity).toBe('0')
    expect(
      await chat
        .rows('end')
        .last()
        .locator('.chat-actions')
        .evaluate((element) => getComputedStyle(element).opacity),
    ).toBe('1')
    await actions.getByRole('button', { name: 'Copy answer' }).focus()
    await expect.poll(opacity).toBe('1')
    const touch = await visit(page.url(), { hasTouch: true, isMobile: true, viewport: phone })
    const row = chatOf(touch).rows('end').first()
    await row.waitFor()
    expect(await row.locator('.chat-actions').evaluate((element) => getComputedStyle(element).opacity)).toBe(
      '1',
    )
  })

  test('says how long it was active, and how long it waited for the user', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    await chat.button('Allow').click()
    await chat
      .rows('end')
      .getByText(/^Done · active \d+(\.\d+)? m?s · waited \d+(\.\d+)? m?s for you · /)
      .waitFor()
  })

  test('is followed when the user sends a message while scrolled up', async () => {
    const desk = await openDesk({ script: ['A line.\n\n'.repeat(80), 'Another line.\n\n'.repeat(80)] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Go')
    await chat.ends(1)
    await page.getByRole('group', { name: 'Conversation' }).hover()
    await page.mouse.wheel(0, -4000)
    await chat.button('Jump to latest').waitFor()
    await chat.say('More')
    await chat.rows('input').getByText('More').waitFor()
    await expect.poll(chat.announced).toContain('Another line.')
    await expect.poll(() => chat.button('Jump to latest').count()).toBe(0)
    await expect.poll(() => page.getByText('Another line.').last().isVisible()).toBe(true)
  })

  test('a long result can be scrolled with the keyboard', async () => {
    const long = Array.from({ length: 500 }, (_, index) => `line ${index} ${'x'.repeat(80)}`).join('\n')
    const tools = [tool({ name: 'read', description: 'r', input: z.object({}), run: () => long })]
    const desk = await openDesk({
      script: [[{ call: 'read' }], 'Read.'],
      agents: (model) => ({ helper: agent({ model, tools }) }),
    })
    const page = await visit(desk.url, { viewport: { width: 320, height: 700 } })
    const chat = chatOf(page)
    await chat.say('Go')
    await chat.ends(1)
    const card = await chat.open('read')
    const box = card.getByRole('figure', { name: 'Output' }).locator('pre')
    expect(await box.evaluate((element) => element.scrollHeight - element.clientHeight)).toBe(0)
    expect(await seriousProblems(page)).toEqual([])
    await card.getByRole('button', { name: /^Show all/ }).click()
    await card.getByText('line 499').waitFor()
    expect(await seriousProblems(page)).toEqual([])
    await box.focus()
    await page.keyboard.press('End')
    await expect.poll(() => box.evaluate((element) => element.scrollTop)).toBeGreaterThan(1000)
  })
})

describePage('while the server cannot be reached', (visit) => {
  test('nothing keeps counting, and the page says how old it is', async () => {
    const desk = await openDeskProcess({
      script: [[{ call: 'track_parcel', input: { id: 'ORD-42' } }]],
    })
    const page = await visit(desk.url, { tolerates: [connectionErrors] })
    const chat = chatOf(page)
    await chat.say('Go')
    const line = chat.card('track_parcel').getByText(/^Running/)
    await line.waitFor()
    await desk.kill()
    await page.getByText(/^Connection lost · last update \d+:\d+:\d+/).waitFor()
    const counted = await line.textContent()
    const changes = await line.evaluate(
      (element) =>
        new Promise<number>((resolve) => {
          let count = 0
          new MutationObserver(() => count++).observe(element, { characterData: true, subtree: true })
          // The clock ticks five times a second.
          let frames = 0
          const next = () => (++frames === 90 ? resolve(count) : requestAnimationFrame(next))
          next()
        }),
    )
    expect(changes).toBe(0)
    expect(await line.textContent()).toBe(counted)
    await screenshot(page, 'chat-offline')
  })
})
