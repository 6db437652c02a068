import { agent, tool } from 'millrace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { chatOf, sent } from './chat.test-kit.ts'
import { refundDesk } from './chat-actions.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, screenshot } from './page.test-kit.ts'

/** A server with a tool that runs until `release` is called. */
async function waitingDesk(...answers: string[]) {
  const gate = Promise.withResolvers<string>()
  const slow = tool({ name: 'slow', description: 's', input: z.object({}), run: () => gate.promise })
  const desk = await openDesk({
    script: [[{ call: 'slow' }], ...answers],
    agents: (model) => ({ helper: agent({ model, tools: [slow] }) }),
  })
  return { ...desk, release: () => gate.resolve('done') }
}

describePage('a call that waits for approval', (visit) => {
  test('runs with the changed arguments', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    const card = chat.card('refund_order')
    await card.getByText('Refund ORD-42?').waitFor()
    await expect.poll(chat.announced).toContain('Tool refund_order: Waiting for you.')
    await screenshot(page, 'chat-approval')
    expect(await page.getByRole('textbox', { name: /^Arguments|^Reason/ }).count()).toBe(0)
    await chat.button('Edit arguments').click()
    await card.getByRole('textbox', { name: /^Arguments/ }).fill('{ "id": "ORD-42", "amount": 40 }')
    await chat.button('Allow with changes').click()
    await chat.ends(1)
    expect(desk.paid).toEqual([{ id: 'ORD-42', amount: 40 }])
    await chat.open('refund_order')
    await card.getByText('Allowed with changes').waitFor()
    await card.getByText('{"id":"ORD-42","amount":40}').waitFor()
  })

  test('can only be allowed with a JSON object, and Escape resets the arguments', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    const edit = chat.button('Edit arguments')
    await edit.click()
    const input = page.getByRole('textbox', { name: /^Arguments/ })
    await expect.poll(() => input.evaluate((box) => box === document.activeElement)).toBe(true)
    await input.fill('[1]')
    expect(await chat.button('Allow with changes').isDisabled()).toBe(true)
    expect(await input.getAttribute('aria-invalid')).toBe('true')
    const described = await input.getAttribute('aria-describedby')
    expect(await page.locator(`[id="${described}"]`).textContent()).toContain('a JSON object')
    await input.press('Escape')
    expect(JSON.parse(await input.inputValue())).toEqual({ id: 'ORD-42', amount: 100 })
    await chat.button('Allow').click()
    await chat.ends(1)
    const decisions = (await desk.app.thread(chat.threadId()).read()).flatMap(({ event }) =>
      event.type === 'approval' ? [event] : [],
    )
    expect(decisions).toEqual([{ type: 'approval', callId: expect.any(String), approved: true }])
  })

  test('sends the reason to the model when it is denied, and shows it once', async () => {
    const desk = await refundDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('My money, please')
    await chat.button('Add a reason').click()
    await page.getByRole('textbox', { name: /^Reason/ }).fill('Too late by a year')
    await chat.button('Deny').click()
    await chat.ends(1)
    expect(desk.paid).toEqual([])
    expect(sent(desk.provider, 2)).toContain('Too late by a year')
    const card = chat.card('refund_order')
    await card.getByText('Denied · Too late by a year').waitFor()
    expect(await card.getByText(/denied|too late/i).count()).toBe(1)
  })
})

describePage('during a run', (visit) => {
  test('a button and keys stop it', async () => {
    const hang = [{ text: 'Hm' }, { hang: true } as const]
    const desk = await openDesk({ script: [hang, hang, hang] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    const stops = [
      () => chat.button('Stop').click(),
      () => page.keyboard.press('Control+.'),
      // On a busy machine, two presses may be too far apart to count as one.
      async () => {
        while (await chat.button('Stop').isVisible()) await page.keyboard.press('Escape')
      },
    ]
    for (const [index, stop] of stops.entries()) {
      await chat.say('Continue')
      await chat.button('Stop').waitFor()
      await stop()
      await chat.ends(index + 1)
    }
    const ends = await chat.rows('end').allInnerTexts()
    expect(ends).toEqual(
      Array.from({ length: 3 }, () => expect.stringMatching(/^You stopped this · active \d/)),
    )
    expect(await chat.button('Stop').count()).toBe(0)
  })

  test('a message steers it: the next round reads it', async () => {
    const desk = await waitingDesk('In French, then.')
    const chat = chatOf(await visit(desk.url))
    await chat.say('Tell me')
    await chat
      .card('slow')
      .getByText(/Running/)
      .waitFor()
    await chat.say('In French')
    await chat.rows('input').getByText('Steer — the agent sees this before its next step').waitFor()
    desk.release()
    await chat.ends(1)
    expect(sent(desk.provider, 2)).toContain('In French')
    await chat.rows('input').getByText('Sent while running').waitFor()
    expect(await chat.rows('end').count()).toBe(1)
  })

  test('a queued message is answered by the next run', async () => {
    const desk = await waitingDesk('First.', 'Second.')
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('One')
    await chat
      .card('slow')
      .getByText(/Running/)
      .waitFor()
    await page.getByRole('combobox', { name: 'Message mode' }).selectOption('queue')
    await chat.say('Two')
    await chat.rows('input').getByText('Queue — answered after this run').waitFor()
    desk.release()
    await chat.ends(2)
    expect(sent(desk.provider, 2)).not.toContain('Two')
    expect(sent(desk.provider, 3)).toContain('Two')
  })

  test('an interrupting message is answered instead', async () => {
    const desk = await waitingDesk('Something else.')
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('One')
    await chat
      .card('slow')
      .getByText(/Running/)
      .waitFor()
    await page.getByRole('combobox', { name: 'Message mode' }).selectOption('interrupt')
    await chat.say('Two')
    await chat.rows('text').getByText('Something else.').waitFor()
    await chat.ends(2)
    expect(await chat.rows('end').first().textContent()).toMatch(/^Stopped: .*interrupted.* · active/)
  })
})

describePage('branching a conversation', (visit) => {
  test('Fork continues from an answer in a new thread', async () => {
    const desk = await openDesk({ script: ['One.', 'Two.', 'Another two.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('First')
    await chat.ends(1)
    await chat.say('Second')
    await chat.ends(2)
    const first = chat.threadId()
    await chat.rows('end').first().getByRole('button', { name: 'Fork' }).click()
    await expect.poll(chat.threadId).not.toBe(first)
    await chat.say('Other second')
    await chat.rows('text').getByText('Another two.').waitFor()
    expect(await chat.rows('input').allInnerTexts()).toEqual([
      expect.stringContaining('First'),
      expect.stringContaining('Other second'),
    ])
  })
})
