import { agent, tool } from 'millrace'
import { client } from 'millrace/client'
import type { ScriptRound } from 'millrace/testing'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { seriousProblems } from './accessibility.test-kit.ts'
import { openDesk } from './desk.ts'
import { askedThread, openLatestRun, openRound } from './detail.test-kit.ts'
import { describePage, phone, screenshot } from './page.test-kit.ts'

const look = tool({
  name: 'look',
  description: 'Looks up an order',
  input: z.object({ id: z.string() }),
  run: ({ id }) => `${id} is in Lyon.`,
})
const pay = tool({
  name: 'pay',
  description: 'Pays it back',
  input: z.object({}),
  approve: () => true,
  run: () => 'Paid.',
})

const price = { input: 100, output: 400 }

/** Two models that play their own scripts. */
function deskOf(rounds: readonly ScriptRound[], others: readonly ScriptRound[] = ['Other.']) {
  const model = scriptedModel(rounds, { id: 'small', price })
  const other = scriptedModel(others, { id: 'large', price })
  const opened = openDesk({
    script: [],
    agents: () => ({
      desk: agent({ model, models: [other], tools: [look, pay], system: 'Be brief.\nBe kind.' }),
    }),
  })
  return opened.then((desk) => ({ ...desk, model, other }))
}

const looking: ScriptRound = [{ text: 'Let me look.' }, { call: 'look', input: { id: 'ORD-1' } }]
const usage = { inputTokens: 100, outputTokens: 10 }

describePage('the playground', (visit) => {
  test('runs a changed round next to the original, and shows the differences', async () => {
    const { url, app, model, other } = await deskOf(
      [looking, [{ text: 'It is in Lyon today.' }, { usage }]],
      [[{ text: 'It was in Paris today.' }, { usage: { inputTokens: 150, outputTokens: 10 } }]],
    )
    const address = await askedThread(url, 'Where is ORD-1?')
    const original = await app.thread(address.split('/').at(-1) ?? '')
    const log = await original.read()
    const page = await visit(url)
    await page.goto(address)
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Round 2' }).click()
    await detail.getByRole('button', { name: 'Open in playground' }).click()

    const playground = page.getByRole('tabpanel', { name: 'Playground' })
    const field = (name: string) => playground.getByRole('textbox', { name })
    await expect.poll(() => field('System prompt').inputValue()).toBe('Be brief.\nBe kind.')
    expect(await field('user message 1').inputValue()).toBe('Where is ORD-1?')
    expect(JSON.parse(await field('assistant message 2').inputValue())).toMatchObject([
      { type: 'text', text: 'Let me look.' },
      { type: 'tool-call', name: 'look', input: { id: 'ORD-1' } },
    ])
    const result = JSON.parse(await field('tool message 3').inputValue())
    expect(result.content).toEqual([{ type: 'text', text: 'ORD-1 is in Lyon.' }])
    expect(await seriousProblems(page)).toEqual([])

    // Problems are shown at the field, and nothing is sent.
    await field('tool message 3').fill('{')
    await playground.getByLabel('Temperature').fill('hot')
    await playground.getByRole('button', { name: 'Run', exact: true }).click()
    await playground.getByText(/^This is not valid JSON/).waitFor()
    await playground.getByText('The temperature must be a number.').waitFor()
    expect(await field('tool message 3').getAttribute('aria-invalid')).toBe('true')
    expect((await app.threads()).threads).toHaveLength(1)

    const changed = { ...result, content: [{ type: 'text', text: 'ORD-1 is in Paris.' }] }
    await field('tool message 3').fill(JSON.stringify(changed))
    await playground.getByLabel('Temperature').fill('0.5')
    await field('System prompt').fill('Be verbose.')
    await field('user message 1').fill('Where was ORD-1?')
    await playground.getByRole('checkbox', { name: 'pay' }).uncheck()
    await playground.getByRole('combobox', { name: 'Model', exact: true }).selectOption('large')
    await playground.getByRole('button', { name: 'Run', exact: true }).click()

    const attempt = playground.getByRole('region', { name: 'Attempt 1', exact: true }).last()
    await attempt.getByText('It was in Paris today.').waitFor()
    await playground.getByRole('region', { name: 'Original' }).getByText('It is in Lyon today.').waitFor()
    const [request] = other.requests
    expect(request?.messages).toMatchObject([
      { role: 'system', content: 'Be verbose.' },
      { role: 'user', content: 'Where was ORD-1?' },
      { role: 'assistant' },
      { role: 'tool', content: [{ text: 'ORD-1 is in Paris.' }] },
    ])
    expect(request?.tools?.map(({ name }) => name)).toEqual(['look'])
    expect(request?.settings?.temperature).toBe(0.5)

    const text = playground.getByRole('region', { name: 'Text', exact: true })
    await expect.poll(() => text.locator('del').allTextContents()).toEqual([' is', ' Lyon'])
    expect(await text.locator('ins').allTextContents()).toEqual([' was', ' Paris'])
    const numbers = playground.getByRole('table', { name: 'Numbers of both' })
    const row = (name: string) =>
      numbers
        .getByRole('row', { name: new RegExp(`^${name}`) })
        .getByRole('cell')
        .allTextContents()
    expect(await row('Input tokens')).toEqual(['100', '150', '+50 (+50%)'])
    expect(await row('Output tokens')).toEqual(['10', '10', 'same'])
    expect(await row('Cost')).toEqual(['$0.014', '$0.019', '+$0.005 (+36%)'])
    expect(await row('Model')).toEqual(['small', 'large', 'different'])
    expect(await seriousProblems(page)).toEqual([])
    await screenshot(page, 'playground')
    // The result has come into view, and only the panel was scrolled.
    await expect.poll(() => playground.evaluate((element) => element.scrollTop)).toBeGreaterThan(0)
    expect(await page.evaluate(() => document.documentElement.scrollTop)).toBe(0)

    // The original is untouched, and the attempt says where it comes from.
    expect(await original.read()).toEqual(log)
    expect(model.requests).toHaveLength(2)
    const { threads } = await app.threads()
    const created = threads.find(({ id }) => id !== original.id)
    expect(created?.metadata).toEqual({
      playground: { thread: original.id, run: expect.stringMatching(/^run_/), round: 2 },
    })
    // Next to each other.
    const places = await Promise.all(
      ['Original', 'Attempt 1'].map((name) =>
        playground.getByRole('region', { name, exact: true }).last().boundingBox(),
      ),
    )
    expect(places[0]?.y).toBe(places[1]?.y)
    // In the list of threads it is not taken for the original.
    const list = page.getByRole('navigation', { name: 'Threads' })
    await list.getByText('Playground: Where was ORD-1?').waitFor()
    await playground.getByRole('button', { name: 'Open thread' }).click()
    await expect.poll(() => page.url()).toContain(created?.id ?? 'no thread')
    await playground.getByRole('button', { name: 'Open the original thread' }).click()
    await expect.poll(() => page.url()).toBe(address)
    await playground.getByRole('button', { name: 'Delete' }).click()
    await attempt.waitFor({ state: 'detached' })
    await list.getByText('Playground: Where was ORD-1?').waitFor({ state: 'detached' })
  })

  test('runs by a shortcut, shows what the server objects to, and stops', async () => {
    const { url, app, model } = await deskOf(['Hello.', [{ text: 'I wait' }, { hang: true }]])
    const page = await visit(url, { tolerates: [/400/] })
    await page.goto(await askedThread(url, 'Hello?'))
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Round 1' }).click()
    await detail.getByRole('button', { name: 'Open in playground' }).click()
    const playground = page.getByRole('tabpanel', { name: 'Playground' })
    const other = playground.getByRole('textbox', { name: 'Other settings (JSON)' })
    await other.fill('{"temprature": 1}')
    await other.press('Control+Enter')
    await playground.getByRole('alert').getByText("Did you mean 'temperature'?").waitFor()
    expect(model.requests).toHaveLength(1)
    await other.fill('')
    await other.press('Control+Enter')
    await playground.getByText('I wait').waitFor()
    await playground.getByRole('button', { name: 'Stop', exact: true }).click()
    await playground.getByRole('row', { name: 'Outcome Done Stopped different' }).waitFor()
    expect(await playground.getByRole('button', { name: 'Stop', exact: true }).count()).toBe(0)
    expect((await app.threads()).threads).toHaveLength(2)
  })

  test('keeps images without showing their data', async () => {
    const { url, model } = await deskOf(['A dot.', 'A red dot.'])
    const data = 'iVBORw0KGgo'.repeat(100)
    const thread = await client(url).create()
    const image = { type: 'image', data, mediaType: 'image/png' } as const
    const seq = await thread.send({ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] })
    for await (const _ of thread.follow({ until: seq })) {
      // Until it is answered.
    }
    const page = await visit(url)
    await page.goto(`${url}/#/threads/${thread.id}`)
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Round 1' }).click()
    await detail.getByRole('button', { name: 'Open in playground' }).click()
    const playground = page.getByRole('tabpanel', { name: 'Playground' })
    const message = playground.getByRole('textbox', { name: 'user message 1' })
    const text = await message.inputValue()
    expect(text).toContain('"data": "[data 1, 1 KB]"')
    expect(text).not.toContain(data)
    await message.fill(text.replace('What is it?', 'Which color is it?'))
    await message.press('Control+Enter')
    await playground.getByText('A red dot.').first().waitFor()
    expect(model.requests[1]?.messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'Which color is it?' },
      image,
    ])
  })

  test('asks for approvals, keeps attempts, and moves, adds and removes messages', async () => {
    const { url, app, model } = await deskOf([
      looking,
      'Found.',
      [{ text: 'I pay.' }, { call: 'pay', input: {} }],
      'It is paid.',
      'Second attempt.',
    ])
    const page = await visit(url, { viewport: phone })
    await page.goto(await askedThread(url, 'Where is ORD-1?'))
    const detail = await openRound(page, 'look')
    await detail.getByRole('button', { name: 'Open in playground' }).click()
    const playground = page.getByRole('tabpanel', { name: 'Playground' })
    const run = playground.getByRole('button', { name: 'Run', exact: true })
    await playground.getByRole('button', { name: 'Add message' }).click()
    await run.click()
    await playground.getByText('Write a text, or remove the message.').waitFor()
    await playground.getByRole('textbox', { name: 'user message 2' }).fill('Hello!')
    await playground.getByRole('button', { name: 'Move message 2 up' }).click()
    await playground.getByRole('button', { name: 'Add message' }).click()
    await playground.getByRole('button', { name: 'Remove message 3' }).click()
    await run.click()
    await playground.getByRole('button', { name: 'Allow', exact: true }).waitFor()
    // The inspector shows the open thread, which is another one.
    expect(await playground.getByRole('button', { name: 'Details' }).count()).toBe(0)
    await playground.getByRole('button', { name: 'Allow', exact: true }).click()
    await playground.getByText('It is paid.').first().waitFor()
    expect(model.requests[2]?.messages.slice(1)).toEqual([
      { role: 'user', content: 'Hello!' },
      { role: 'user', content: 'Where is ORD-1?' },
    ])
    const calls = playground.getByRole('region', { name: 'Calls' }).getByRole('listitem')
    await expect
      .poll(async () => (await calls.allTextContents()).sort())
      .toMatchObject([
        expect.stringMatching(/^look only in Original/),
        expect.stringMatching(/^pay only in Attempt 1/),
      ])
    await run.click()
    await playground.getByText('Second attempt.').first().waitFor()
    await playground.getByRole('button', { name: 'Attempt 1', exact: true }).click()
    await playground.getByText('It is paid.').first().waitFor()
    // Below the original.
    const places = await Promise.all(
      ['Original', 'Attempt 1'].map((name) =>
        playground.getByRole('region', { name, exact: true }).last().boundingBox(),
      ),
    )
    expect(places[0]?.x).toBe(places[1]?.x)
    expect((await app.threads()).threads).toHaveLength(3)
    // Four tabs do not fit, but the selected one is in view.
    const tab = await page.getByRole('tab', { name: 'Playground' }).boundingBox()
    expect((tab?.x ?? 0) + (tab?.width ?? 0)).toBeLessThan(phone.width)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(phone.width)
    await screenshot(page, 'playground-phone')
  })
})
