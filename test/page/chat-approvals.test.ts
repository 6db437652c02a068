import { agent, tool } from 'millrace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { seriousProblems } from './accessibility.test-kit.ts'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, screenshot } from './page.test-kit.ts'

const script = 'set -e\nfor f in *.txt; do\n  echo "$f"\ndone'

/** A server whose agent asks before it pays or runs a script. `done` records what has run. */
async function askingDesk(rounds: Parameters<typeof openDesk>[0]['script']) {
  const done: unknown[] = []
  const record = (input: unknown) => {
    done.push(input)
    return 'ok'
  }
  const tools = [
    tool({
      name: 'pay_bill',
      description: 'p',
      input: z.object({ to: z.string(), amount: z.number() }),
      approve: true,
      run: record,
    }),
    tool({
      name: 'run_script',
      description: 'r',
      input: z.object({ script: z.string() }),
      approve: () => 'Run a script in `/work`?',
      run: record,
    }),
  ]
  const desk = await openDesk({ script: rounds, agents: (model) => ({ helper: agent({ model, tools }) }) })
  return { ...desk, done }
}

const pay = (amount: number) => ({ call: 'pay_bill', input: { to: 'Ada', amount } })

describePage('several calls that wait for approval', (visit) => {
  test('say what will happen, and are allowed or denied at once', async () => {
    const calls = [pay(5), { call: 'run_script', input: { script } }, pay(7)]
    const desk = await askingDesk([calls, 'Paid.', calls, 'So be it.'])
    const page = await visit(desk.url, { viewport: { width: 320, height: 700 } })
    const chat = chatOf(page)
    await chat.say('Go')
    await page.getByText('3 calls wait for you').waitFor()
    const first = chat.card('pay_bill').first()
    expect(await first.getByRole('group').getAttribute('class')).toBe('chat-approval')
    await first.getByText('Pay bill Ada?').waitFor()
    expect(await first.locator('dd').allTextContents()).toEqual(['Ada', '5'])
    // Code is shown as code, with its line breaks.
    const card = chat.card('run_script')
    expect(await card.getByRole('figure', { name: 'script' }).locator('pre').textContent()).toBe(script)
    expect(await card.locator('legend code').textContent()).toBe('/work')
    // Nothing is clipped on a small phone.
    const clipped = await page
      .locator('.chat-approval, .chat-approval *')
      .evaluateAll((elements) =>
        elements
          .filter((element) => element.getBoundingClientRect().right > 320 || element.scrollWidth > 320)
          .map((element) => element.outerHTML),
      )
    expect(clipped).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    await screenshot(page, 'chat-approvals-phone')
    expect(await seriousProblems(page)).toEqual([])

    // Changes to one of them are kept.
    await first.getByRole('button', { name: 'Edit arguments' }).click()
    await page.getByRole('textbox', { name: /^Arguments/ }).fill('{ "to": "Ada", "amount": 4 }')
    await page.getByRole('button', { name: 'Allow all (3)' }).click()
    await chat.ends(1)
    expect(desk.done).toEqual(
      expect.arrayContaining([{ to: 'Ada', amount: 4 }, { script }, { to: 'Ada', amount: 7 }]),
    )
    await chat.say('Again')
    await page.getByRole('button', { name: 'Deny all' }).click()
    await chat.ends(2)
    expect(desk.done).toHaveLength(3)
  })
})

describePage('a call that waits for approval', (visit) => {
  test('shows all of its arguments', async () => {
    const lines = Array.from({ length: 60 }, (_, index) => `echo ${index}`).join('\n')
    const desk = await askingDesk([[{ call: 'run_script', input: { script: lines, note: { by: 'Ada' } } }]])
    const page = await visit(desk.url)
    const card = chatOf(page).card('run_script')
    await chatOf(page).say('Go')
    expect(await card.getByRole('figure', { name: 'script' }).locator('pre').textContent()).toBe(lines)
    expect(await card.getByRole('button', { name: /^Show all/ }).count()).toBe(0)
  })

  test('is edited until Escape, which resets the arguments and then closes the editor', async () => {
    const desk = await askingDesk([[pay(5)], 'Paid.'])
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Go')
    await chat.button('Edit arguments').click()
    const editor = page.getByRole('textbox', { name: /^Arguments/ })
    await editor.fill('{}')
    await editor.press('Escape')
    await expect.poll(() => editor.inputValue()).toContain('"Ada"')
    await editor.press('Escape')
    await editor.waitFor({ state: 'detached' })
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Tool pay_bill')
    // Two of them in a short time do not stop the run.
    await chat.button('Allow').click()
    await chat.rows('text').getByText('Paid.').waitFor()
  })
})

describePage('a denied call', (visit) => {
  test('that the model repeats is shown once, with the number of times', async () => {
    const desk = await askingDesk([
      [pay(5)],
      [{ text: 'Are you sure?' }, pay(5)],
      [pay(5)],
      [{ text: 'Less, then.' }, pay(3)],
      'So be it.',
    ])
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Go')
    await chat.button('Add a reason').click()
    await page.getByRole('textbox', { name: /^Reason/ }).fill('too expensive')
    await chat.button('Deny').click()
    const line = page.getByRole('button', { name: /^Pay bill Ada · Denied/ })
    await line.getByText('Denied · too expensive', { exact: true }).waitFor()
    for (const times of ['2 times', '3 times']) {
      await chat.button('Deny').press('Enter')
      await line.getByText(`Denied ${times} · too expensive`, { exact: true }).waitFor()
      // The focus was in the card that disappeared.
      expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Tool pay_bill')
      expect(await line.count()).toBe(1)
    }
    // Other arguments are another call.
    await chat.button('Allow').click()
    await chat.ends(1)
    expect(await chat.card('pay_bill').count()).toBe(2)
    expect(desk.done).toEqual([{ to: 'Ada', amount: 3 }])
  })
})
