import type { ThreadEvent } from 'millrace/client'
import { expect, test } from 'vitest'
import type { TimedEvent } from '../../packages/inspector/timeline/events.test-kit.ts'
import { emit, entriesOf } from '../../packages/inspector/timeline/events.test-kit.ts'
import { seriousProblems } from './accessibility.test-kit.ts'
import { openDeskProcess } from './desk.ts'
import { fact } from './detail.test-kit.ts'
import { describePage, say, screenshot } from './page.test-kit.ts'
import { openTimeline } from './timeline.test-kit.ts'

const usage = {
  inputTokens: 1000,
  cacheReadTokens: 600,
  cacheWriteTokens: 50,
  outputTokens: 80,
  reasoningTokens: 30,
}
const roundEnd = (round: number, firstEventMs: number, ms: number): ThreadEvent => ({
  type: 'round-end',
  round,
  model: 'm',
  finish: 'stop',
  usage,
  cost: { usd: 0.01, prices: 'custom' },
  timings: { firstEventMs, ms },
})

/** As a process reports it: the sum of this number of rounds. */
const runEnd = (rounds: number, outcome: 'completed' | 'suspended' = 'completed'): ThreadEvent => ({
  ...(emit.runEnd(outcome) as RunEnd),
  usage: Object.fromEntries(
    Object.entries(usage).map(([kind, count]) => [kind, count * rounds]),
  ) as typeof usage,
})
type RunEnd = Extract<ThreadEvent, { type: 'run-end' }>

/** A run that is active for 1.88 s and waits for 17.4 s, and a second one. */
const log: readonly TimedEvent[] = [
  [0, emit.input('Pay it back.')],
  [0, emit.runStart({ inputs: [1] })],
  [0, emit.roundStart(1)],
  [400, emit.toolInputStart('a')],
  [1000, emit.toolCall('a')],
  [1000, emit.approvalRequest('a')],
  [1200, roundEnd(1, 400, 1200)],
  [1200, runEnd(1, 'suspended')],
  [18_600, emit.approval('a')],
  [18_600, emit.runStart({ resumes: 'run_1', runId: 'run_2' })],
  [18_600, emit.toolStart('a')],
  [18_680, emit.toolResult('a', 80)],
  [18_680, emit.roundStart(2)],
  [18_780, emit.text('Paid.')],
  [19_280, roundEnd(2, 100, 600)],
  [19_280, runEnd(2)],
  [30_000, emit.input('Thanks.')],
  [30_000, emit.runStart({ inputs: [17], runId: 'run_3' })],
  [30_000, { type: 'summary', replaces: 3, message: { role: 'user', content: 'It was paid.' } }],
  [30_000, emit.roundStart(1)],
  [30_200, emit.text('You are welcome.')],
  [30_700, roundEnd(1, 200, 700)],
  [30_700, runEnd(1)],
]

describePage('totals', (visit) => {
  test('of a thread and its runs are in a table, and agree with the timeline', async () => {
    const page = await openTimeline(visit, entriesOf(log), [], { viewport: { width: 1280, height: 900 } })
    await page.getByLabel('Run', { exact: true }).selectOption({ index: 1 })
    const head = page.locator('.timeline > p')
    await head.getByText('active 1.88 s · waited 17.4 s for you').waitFor()
    for (const part of [
      'first token after 400 ms',
      '2,000 tokens in, 160 out, 60% from cache',
      '60 reasoning',
    ])
      expect(await head.textContent()).toContain(part)

    await page.getByRole('tab', { name: 'Detail' }).click()
    const detail = page.getByRole('tabpanel', { name: 'Detail' })
    await detail.getByRole('heading', { name: 'Run of desk' }).waitFor()
    for (const [label, value] of [
      ['Active', '1.88 s'],
      ['Waited for you', '17.4 s'],
      ['From start to end', '19.3 s'],
      ['First token', '400 ms'],
      ['Input tokens', '2,000'],
      ['Read from cache', '1,200 (60%)'],
      ['Written to cache', '100'],
      ['Output tokens', '160'],
      ['Reasoning tokens', '60'],
      ['Speed', '123 tokens/s'],
      ['Cost', '$0.02'],
    ] as const)
      expect(await fact(detail, label), label).toBe(value)

    // The thread: nothing is selected.
    await page.getByRole('button', { name: 'Thread $0.03' }).click()
    await detail.getByRole('heading', { name: 'This thread' }).waitFor()
    for (const [label, value] of [
      ['Cost', '$0.03'],
      ['Active', '2.58 s'],
      ['Waited for you', '17.4 s'],
      ['First token', '300 ms on average'],
      ['Speed', '133 tokens/s'],
      ['Rounds', '3'],
      ['Calls', '1'],
      ['Input tokens', '3,000'],
      ['Read from cache', '1,800 (60%)'],
      ['Written to cache', '150'],
      ['Output tokens', '240'],
      ['Reasoning tokens', '90'],
    ] as const)
      expect(await fact(detail, label), label).toBe(value)
    const table = detail.getByRole('table', { name: 'Runs of this thread' })
    const heads = table.getByRole('columnheader')
    expect(await heads.allTextContents()).toEqual(['Run', 'Outcome', 'Calls', 'In', 'Out', 'Active', 'Cost'])
    const rows = await table
      .getByRole('row')
      .evaluateAll((all) => all.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)))
    expect(rows.slice(1)).toEqual([
      ['Done', '0', '1,000', '80', '700 ms', '$0.01'],
      ['Done', '1', '2,000', '160', '1.88 s', '$0.02'],
    ])
    // Nothing has to be scrolled sideways.
    const overflow = () => detail.evaluate((element) => element.scrollWidth - element.clientWidth)
    expect(await overflow()).toBe(0)
    // What was compacted, and when.
    await detail.getByText('Earlier messages (3) were summarized for the model.').waitFor()
    expect(await seriousProblems(page)).toEqual([])
    await screenshot(page, 'thread-detail')
    await page.setViewportSize({ width: 320, height: 720 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
    expect(await overflow()).toBe(0)
    // What is most wanted stays.
    expect(await heads.filter({ visible: true }).allTextContents()).toEqual([
      'Run',
      'Outcome',
      'Active',
      'Cost',
    ])
    await table.getByRole('button', { name: 'Run 1', exact: true }).click()
    await detail.getByRole('heading', { name: 'Run of desk' }).waitFor()
    expect(await fact(detail, 'Waited for you')).toBe('17.4 s')
    const rounds = detail.getByRole('table', { name: 'Rounds' })
    await page.setViewportSize({ width: 1280, height: 900 })
    expect((await rounds.getByRole('row').allTextContents()).slice(1)).toEqual([
      'Round 1stop400 ms1.20 s1,000801$0.01',
      'Round 2stop100 ms600 ms1,000800$0.01',
    ])
    expect(await overflow()).toBe(0)
  })

  test('stand still while the server is unreachable', async () => {
    const desk = await openDeskProcess({
      script: [[{ text: 'One moment' }, { hang: true }]],
    })
    const page = await visit(desk.url, { tolerates: [/./] })
    await say(page, 'Hello?')
    await page.getByText('One moment').first().waitFor()
    await page.getByRole('button', { name: 'Inspect' }).click()
    await page.getByRole('tab', { name: 'Detail' }).click()
    const detail = page.getByRole('tabpanel', { name: 'Detail' })
    await detail.getByRole('button', { name: 'Run 1', exact: true }).click()
    const active = () => fact(detail, 'Active')
    const first = await active()
    await expect.poll(active).not.toBe(first)
    await desk.kill()
    await detail.getByText('Connection lost.').waitFor()
    const shown = await active()
    // The page still works: only the times stand still.
    await page.getByRole('tab', { name: 'Timeline' }).click()
    const head = page.locator('.timeline > p').last()
    const text = await head.textContent()
    await page.getByRole('tab', { name: 'Events' }).click()
    await page.getByRole('tab', { name: 'Timeline' }).click()
    expect(await head.textContent()).toBe(text)
    await page.getByRole('tab', { name: 'Detail' }).click()
    expect(await active()).toBe(shown)
    await desk.start()
    await expect.poll(active).not.toBe(shown)
  })
})
