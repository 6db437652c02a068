import type { AgentOptions } from 'millrace'
import { agent, tool } from 'millrace'
import type { ScriptedModelOptions, ScriptRound } from 'millrace/testing'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { seriousProblems } from './accessibility.test-kit.ts'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { fact, openLatestRun } from './detail.test-kit.ts'
import { describePage, screenshot } from './page.test-kit.ts'

const search = tool({
  name: 'search',
  description: 'Searches',
  input: z.object({}),
  run(_, { spend }) {
    spend({ usd: 0.005 })
    return 'found '.repeat(20)
  },
})

const usage = { inputTokens: 4000, outputTokens: 500 }
const searching: ScriptRound = [{ call: 'search' }, { usage }]
const answer: ScriptRound = [{ text: 'Found.' }, { usage: { inputTokens: 4600, outputTokens: 100 } }]
/** The first round costs $0.006, and the second $0.005. */
const price = { input: 1, output: 4 }

/** A server whose agent plays these rounds. */
function deskOf(
  rounds: readonly ScriptRound[],
  model: ScriptedModelOptions = {},
  options: Pick<AgentOptions, 'system' | 'budget' | 'maxContextTokens'> = {},
) {
  return openDesk({
    script: [],
    agents: () => ({
      helper: agent({
        model: scriptedModel(rounds, { id: 'gpt', ...model }),
        tools: [search],
        retry: { baseMs: 1 },
        ...options,
      }),
    }),
  })
}

describePage('costs', (visit) => {
  test('of a run, its rounds and the thread are shown, with what they consist of', async () => {
    const { url } = await deskOf([searching, answer], { price })
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Search')
    await chat.ends(1)
    const cost = chat.rows('end').getByText('$0.016', { exact: true })
    await cost.waitFor()
    expect(await cost.getAttribute('title')).toBe('gpt: $0.011\nTool search: $0.005')
    const detail = await openLatestRun(page)
    expect(await fact(detail, 'Cost')).toBe('$0.016')
    const parts = detail.getByRole('region', { name: 'Cost', exact: true }).getByRole('listitem')
    expect(await parts.allTextContents()).toEqual(['gpt: $0.011', 'Tool search: $0.005'])
    await detail.getByRole('button', { name: 'Round 1' }).click()
    await expect.poll(() => fact(detail, 'Cost')).toBe('$0.006')
    expect(await fact(detail, 'Prices')).toBe('custom')
    await detail.getByRole('button', { name: /^Done/ }).click()
    await expect.poll(() => fact(detail, 'Cost')).toBe('$0.005')
    // Opens what the whole thread has cost.
    await page.getByRole('button', { name: 'Thread $0.016' }).click()
    await detail.getByRole('heading', { name: 'This thread' }).waitFor()
    expect(await fact(detail, 'Cost')).toBe('$0.016')
    expect(await parts.allTextContents()).toEqual(['gpt: $0.011', 'Tool search: $0.005'])
  })

  test('with an unknown price are said to be unknown', async () => {
    const { url } = await deskOf([searching, answer])
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Search')
    await chat.ends(1)
    const cost = chat.rows('end').getByText('$0.005 + unknown price', { exact: true })
    expect(await cost.getAttribute('title')).toBe('Tool search: $0.005\nUnknown price: 2 requests')
    await page.getByRole('button', { name: 'Thread $0.005 + unknown price' }).waitFor()
  })

  test('that are simulated are marked as simulated', async () => {
    const { url } = await deskOf([answer], { price, simulated: true })
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Hello')
    await chat.ends(1)
    await chat.rows('end').getByText('$0.005 simulated', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Simulated Thread $0.005' }).waitFor()
    const detail = await openLatestRun(page)
    expect(await fact(detail, 'Cost')).toBe('$0.005 simulated')
    // Its parts would say the same again.
    expect(await detail.getByRole('region', { name: 'Cost', exact: true }).count()).toBe(0)
  })

  test('of a failed request are shown with the retry', async () => {
    const broken: ScriptRound = [
      { text: 'It is '.repeat(500) },
      { error: { code: 'stream_error', message: 'the stream broke' } },
    ]
    const { url } = await deskOf([broken, answer], { price })
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Hello')
    await chat.ends(1)
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Round 1' }).first().click()
    await detail.getByText(/the stream broke\. The failed request cost: \$0\.00\d+ estimated/).waitFor()
  })
})

describePage('the context', (visit) => {
  const label = 'Context: '

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 320],
  ] as const)('is shown as a bar with numbers, in %s mode and %d pixels', async (colorScheme, width) => {
    const { url } = await deskOf(
      [searching, answer],
      { price },
      { maxContextTokens: 10_000, system: 'Search.' },
    )
    const page = await visit(url, { colorScheme, viewport: { width, height: 720 } })
    const chat = chatOf(page)
    await chat.say('Search')
    await chat.ends(1)
    const bar = page.getByRole('img', { name: /^4,700 of 10,000 tokens \(47%\)\. System \d/ })
    await bar.waitFor()
    await screenshot(page, `cost-chat-${colorScheme}-${width}`)
    await page.getByRole('button', { name: 'Thread $0.016' }).click()
    const section = page.getByRole('region', { name: `${label}4,700 of 10,000 tokens (47%)` })
    await section.waitFor()
    const legend = await section.getByRole('listitem').allTextContents()
    expect(legend.map((item) => item.trim().replace(/[\d,]+$/, 'N'))).toEqual([
      'System N',
      'Tools N',
      'History N',
      'Results N',
    ])
    const counts = legend.map((item) => Number(/[\d,]+$/.exec(item)?.[0].replaceAll(',', '')))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(4700)
    await section.getByText('Compacted above 8,000 tokens.').waitFor()
    const widths = await section
      .locator('[role=img] > span')
      .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().width))
    const whole = await section.getByRole('img').evaluate((element) => element.clientWidth)
    expect(widths.reduce((sum, one) => sum + one, 0) / whole).toBeCloseTo(0.47, 2)
    const mark = await section
      .locator('[role=img] > i')
      .evaluate((element) => (element as HTMLElement).offsetLeft)
    expect(mark / whole).toBeCloseTo(0.8, 1)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await screenshot(page, `cost-detail-${colorScheme}-${width}`)
    expect(await seriousProblems(page)).toEqual([])
  })

  test('of a round is in its details, without a share if its limit is not known', async () => {
    const { url } = await deskOf([answer])
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Hello')
    await chat.ends(1)
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Round 1' }).click()
    await detail.getByRole('heading', { name: `${label}4,700 tokens`, exact: true }).waitFor()
    await detail.getByText('How many tokens the model can read is not known.').waitFor()
  })
})

describePage('the question whether to spend more', (visit) => {
  async function asked(rounds: readonly ScriptRound[]) {
    const budget = { usd: 0.006, onLimit: 'ask' } as const
    const desk = await deskOf(rounds, { price }, { budget })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Search')
    const card = chat.conversation.getByRole('article', { name: 'Budget' })
    await card.getByRole('group', { name: /^The budget of \$0\.006 for this run is spent/ }).waitFor()
    return { desk, page, chat, card, amount: card.getByRole('spinbutton', { name: 'US dollars' }) }
  }

  test('is answered with a changed amount', async () => {
    const { desk, page, chat, card, amount } = await asked([searching, answer])
    await screenshot(page, 'cost-question')
    expect(await seriousProblems(page)).toEqual([])
    expect(await card.getByRole('button', { name: 'Details' }).count()).toBe(0)
    await expect.poll(chat.announced).toContain('Spend $0.006 more?')
    await amount.fill('-1')
    expect(await chat.button('Allow').isDisabled()).toBe(true)
    await amount.fill('1.5')
    await chat.button('Allow').click()
    await card.getByText('for this run is spent. Allowed $1.50 more').waitFor()
    expect(await amount.count()).toBe(0)
    await chat.ends(1)
    await chat
      .rows('end')
      .getByText(/^Done · active/)
      .waitFor()
    const log = await desk.app.thread(chat.threadId()).read()
    expect(log.find(({ event }) => event.type === 'approval')?.event).toMatchObject({
      approved: true,
      input: { usd: 1.5 },
    })
    const detail = await openLatestRun(page)
    const tools = detail.getByRole('region', { name: 'Tools called' })
    expect(await tools.getByText('budget').count()).toBe(0)
  })

  test('is answered with the amount as it is', async () => {
    const { desk, chat, card } = await asked([searching, answer])
    await chat.button('Allow').click()
    await card.getByText('Allowed $0.006 more').waitFor()
    await chat
      .rows('end')
      .getByText(/^Done · active/)
      .waitFor()
    const log = await desk.app.thread(chat.threadId()).read()
    expect(log.find(({ event }) => event.type === 'approval')?.event).not.toHaveProperty('input')
  })

  test('is denied, and the run says which limit ended it', async () => {
    const { page, chat, card } = await asked([searching])
    await chat.button('Deny').click()
    await card.getByText(/is spent\. Denied$/).waitFor()
    await chat
      .rows('end')
      .getByText(/^The budget of \$0\.006 for this run is spent · active/)
      .waitFor()
    const detail = await openLatestRun(page)
    expect(await fact(detail, 'Outcome')).toBe('Budget reached')
    expect(await fact(detail, 'Limit')).toBe('The budget of $0.006 for this run is spent.')
  })
})
