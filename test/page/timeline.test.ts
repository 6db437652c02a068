import type { ScriptStep } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { TimedEvent } from '../../packages/inspector/timeline/events.test-kit.ts'
import { emit, entriesOf } from '../../packages/inspector/timeline/events.test-kit.ts'
import { describePage, phone, say, screenshot } from './page.test-kit.ts'
import { bar, focused, openTimeline } from './timeline.test-kit.ts'

const day = 86_400_000

/** Two concurrent calls, one of which fails; a call that waits two days; a retracted round. */
const eventful: readonly TimedEvent[] = [
  [0, emit.input('Where is ORD-42? Please pay it back.')],
  [0, emit.runStart({ inputs: [1] })],
  [0, emit.roundStart(1)],
  [420, emit.reasoning('Two things at once.')],
  [910, emit.text('Let me ')],
  [1190, emit.text('look.')],
  [1190, emit.toolInputStart('a', 'lookup_order')],
  [1200, emit.toolCall('a', 'lookup_order')],
  [1200, emit.toolStart('a')],
  [1400, emit.toolInputStart('b', 'track_parcel')],
  [1500, emit.toolCall('b', 'track_parcel')],
  [1500, emit.toolStart('b')],
  [1600, emit.toolInputStart('c', 'refund_order')],
  [1700, emit.toolCall('c', 'refund_order')],
  [1700, emit.approvalRequest('c')],
  [1710, emit.roundEnd(1, { firstEventMs: 411, ms: 1708 })],
  [1830, emit.toolResult('a', 630)],
  [2000, emit.toolProgress('b')],
  [2500, emit.toolResult('b', 1000, 'failed')],
  [2510, emit.runEnd('suspended')],
  [2 * day, emit.approval('c')],
  [2 * day, emit.runStart({ resumes: 'run_1', runId: 'run_2' })],
  [2 * day, emit.toolStart('c')],
  [2 * day + 600, emit.toolResult('c', 600)],
  [2 * day + 610, emit.roundStart(2)],
  [2 * day + 900, emit.text('It is nowh')],
  [2 * day + 1000, emit.roundRetract(2)],
  [2 * day + 1000, emit.roundRetry(2, 2, 100)],
  [2 * day + 1400, emit.text('It is on ')],
  [2 * day + 1700, emit.text('its way.')],
  [2 * day + 1710, emit.roundEnd(2, { firstEventMs: 300, ms: 610 })],
  [2 * day + 1720, emit.runEnd()],
]

describePage('the timeline', (visit) => {
  test('labels each bar with its exact times', async () => {
    const page = await openTimeline(visit, entriesOf(eventful))
    await page.getByRole('button', { name: 'Round 1, waiting for m, from 0 ms to 411 ms, 411 ms' }).waitFor()
    for (const name of [
      'Round 1, thinking, from 411 ms to 420 ms, 9 ms, 19 characters',
      'lookup_order running, from 1.200 s to 1.830 s, 630 ms',
      'track_parcel running, from 1.500 s to 2.500 s, 1.000 s, failed, 1 report',
      /^refund_order waiting for a person, from 1.700 s to 2 d, 1 d 23 h/,
      /^Round 2, writing, .*retracted: the stream broke/,
    ])
      expect(await page.getByRole('button', { name }).count()).toBe(1)
    await page.locator('.timeline > p').getByText('first token after 411 ms').waitFor()
    for (const label of ['0 ms', '1 d 23 h idle', 'Resumed'])
      await page.locator('.timeline-band').getByText(label, { exact: true }).waitFor()
    await screenshot(page, 'timeline')
  })

  test('shows a tooltip with exact times on hover and focus', async () => {
    const page = await openTimeline(visit, entriesOf(eventful))
    const hint = page.locator('.timeline-hint')
    await bar(page, 'lookup_order running').hover()
    await hint.getByText('630 ms').waitFor()
    await hint.getByText('+1.200 s to +1.830 s').waitFor()
    await page.keyboard.press('Escape')
    await hint.waitFor({ state: 'detached' })
    await bar(page, 'track_parcel running').focus()
    await hint.getByText('1.000 s', { exact: true }).waitFor()
    await hint.getByText('failed').waitFor()
  })

  test('supports arrow keys, and opens details with Enter or a click', async () => {
    const page = await openTimeline(visit, entriesOf(eventful))
    await bar(page, 'Round 1, waiting').focus()
    expect(await focused(page)).toMatch(/^Round 1, waiting/)
    const walk = ['ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowRight', 'ArrowDown', 'Home']
    const names: string[] = []
    for (const key of walk) {
      await page.keyboard.press(key)
      names.push((await focused(page)).split(', from')[0] as string)
    }
    expect(names).toEqual([
      'Round 1, thinking',
      'Round 1, writing',
      'lookup_order arguments',
      'lookup_order running',
      'track_parcel arguments',
      'track_parcel arguments',
    ])
    expect(await page.locator('.timeline-bar[tabindex="0"]').count()).toBe(1)
    await page.keyboard.press('Enter')
    const detail = page.getByRole('tabpanel', { name: 'Detail' })
    await detail.getByText('track_parcel').first().waitFor()
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await bar(page, 'refund_order running').click()
    await detail.getByText('refund_order').first().waitFor()
  })

  test('zooms and pans by keys, buttons, wheel and drag', async () => {
    const page = await openTimeline(visit, entriesOf(eventful))
    const running = bar(page, 'lookup_order running')
    const place = async () => (await running.boundingBox()) ?? { x: -1, width: -1, y: 0, height: 0 }
    const all = await place()
    const wider = (factor: number) =>
      expect.poll(async () => (await place()).width / all.width).toBeCloseTo(factor, 1)

    await bar(page, 'lookup_order running').focus()
    await page.keyboard.press('+')
    await wider(2)
    await page.keyboard.press('-')
    await wider(1)
    await page.getByRole('button', { name: 'Zoom in' }).click()
    await wider(2)
    const before = (await place()).x
    await bar(page, 'lookup_order running').focus()
    await page.keyboard.press('Shift+ArrowLeft')
    await expect.poll(async () => (await place()).x).toBeGreaterThan(before + 20)
    await page.keyboard.press('0')
    await wider(1)

    await page.mouse.move(all.x + all.width / 2, all.y + 4)
    await page.keyboard.down('Control')
    await page.mouse.wheel(0, -100)
    await page.keyboard.up('Control')
    await expect.poll(async () => (await place()).width).toBeGreaterThan(all.width * 1.4)
    const closer = await place()
    expect(closer.x + closer.width / 2).toBeCloseTo(all.x + all.width / 2, -1)
    await page.keyboard.down('Shift')
    await page.mouse.wheel(0, 30)
    await page.keyboard.up('Shift')
    await expect.poll(async () => (await place()).x).toBeCloseTo(closer.x - 30, -1)
    await page.locator('.timeline-ruler').dblclick()
    await wider(1)

    // Dragging from the start to the end of the bar makes it fill the view.
    const box = (await page.locator('.timeline-lanes').boundingBox()) ?? all
    await drag(page, { x: all.x, y: box.y + 70 }, { x: all.x + all.width, y: box.y + 70 })
    await expect.poll(async () => (await place()).width).toBeGreaterThan((box.width - 104) * 0.9)
    const { x } = await place()
    await drag(page, { x: box.x + 200, y: box.y + 8 }, { x: box.x + 260, y: box.y + 8 })
    await expect.poll(async () => (await place()).x).toBeCloseTo(x + 60, -1)
  })

  test('has the same content as a table', async () => {
    const page = await openTimeline(visit, entriesOf(eventful))
    await page.getByText('Show as table').click()
    const row = page.getByRole('row', { name: /lookup_order running/ })
    expect(await row.getByRole('cell').allTextContents()).toEqual([
      'lookup_order',
      'lookup_order running',
      '1.200 s',
      '1.830 s',
      '630 ms',
      '',
    ])
    await row.getByRole('button').click()
    await page.getByRole('tabpanel', { name: 'Detail' }).getByText('lookup_order').first().waitFor()
  })

  test('follows the latest run, unless another is selected', async () => {
    const page = await openTimeline(visit, entriesOf(eventful), ['One.', 'Two.'])
    await say(page, 'And now?')
    await page.locator('.timeline > p').getByText('Done · ').waitFor()
    await bar(page, 'Round 1, waiting for simulated-1').waitFor()
    const runs = page.getByRole('combobox', { name: 'Run' })
    await runs.selectOption({ index: 1 })
    await bar(page, 'refund_order running').waitFor()
    await say(page, 'And then?')
    await page.getByRole('option', { name: /^Run 3.*Done/ }).waitFor({ state: 'attached' })
    await bar(page, 'refund_order running').waitFor()
    await runs.selectOption('Latest run')
    await bar(page, 'Round 1, waiting for simulated-1').waitFor()
  })

  test('grows during a run, and stops when it ends', async () => {
    const slow = Array.from({ length: 40 }, (_, index): ScriptStep[] => [
      { text: `word${index} ` },
      { pause: 60 },
    ])
    const page = await openTimeline(visit, entriesOf(eventful), [slow.flat()])
    await say(page, 'Slowly, please')
    const writing = bar(page, /^Round 1, writing, from .*, still running/)
    const took = async () =>
      Number(/still running, ([\d.]+)/.exec((await writing.getAttribute('aria-label')) ?? '')?.[1])
    await writing.waitFor()
    await page.locator('.timeline > p').getByText('so far').waitFor()
    const before = await took()
    await expect.poll(took).not.toBe(before)
    await page.locator('.timeline > p').getByText('Done').waitFor()
    expect(await bar(page, /still running/).count()).toBe(0)
  })

  test('fits on a phone', async () => {
    const page = await openTimeline(visit, entriesOf(eventful), [], { viewport: phone })
    await bar(page, 'lookup_order running').waitFor()
    await page.getByText('Show as table').click()
    await page.getByRole('button', { name: 'Replay' }).click()
    await page.getByRole('slider').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(phone.width)
    await screenshot(page, 'timeline-phone')
  })
})

async function drag(page: Page, from: { x: number; y: number }, to: { x: number; y: number }) {
  await page.mouse.move(from.x, from.y)
  await page.mouse.down()
  await page.mouse.move((from.x + to.x) / 2, to.y)
  await page.mouse.move(to.x, to.y)
  await page.mouse.up()
}
