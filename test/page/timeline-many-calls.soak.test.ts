import { expect, test } from 'vitest'
import type { TimedEvent } from '../../packages/inspector/timeline/events.test-kit.ts'
import { emit, entriesOf } from '../../packages/inspector/timeline/events.test-kit.ts'
import { describePage } from './page.test-kit.ts'
import { bar, focused, openTimeline } from './timeline.test-kit.ts'

const each = 5000

describePage('the timeline of very many calls', (visit) => {
  test('renders a bounded number of elements', async () => {
    const page = await openTimeline(visit, entriesOf(manyCalls(each)))
    const count = () => page.locator('.timeline *').count()
    await page
      .locator('.timeline > p')
      .getByText(`${(2 * each).toLocaleString('en')} calls`)
      .waitFor()
    expect(await count()).toBeLessThan(900)
    await page.locator('.timeline-lanes').evaluate((box) => box.scrollTo(0, box.scrollHeight / 3))
    await bar(page, /^look_up running/)
      .first()
      .waitFor()
    expect(await count()).toBeLessThan(900)
    await page.locator('.timeline-lanes').evaluate((box) => box.scrollTo(0, box.scrollHeight))
    await bar(page, /short steps/)
      .first()
      .waitFor()
    expect(await count()).toBeLessThan(900)
    await page.getByText('Show as table').click()
    await page.getByRole('button', { name: /^[\d,]+ more$/ }).waitFor()
    expect(await count()).toBeLessThan(2000)
  })

  test('keeps the focus while scrolling', async () => {
    const page = await openTimeline(visit, entriesOf(manyCalls(each)))
    const lanes = page.locator('.timeline-lanes')
    await bar(page, /^look_up arguments/)
      .first()
      .focus()
    const before = await focused(page)
    await lanes.evaluate((box) => box.scrollTo(0, box.scrollHeight))
    await bar(page, /short steps/)
      .first()
      .waitFor()
    expect(await focused(page)).toBe(before)
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => focused(page)).not.toBe(before)
    await expect.poll(() => lanes.evaluate((box) => box.scrollTop)).toBeLessThan(1000)
  })
})

/** `each` concurrent calls that wait in a queue, then as many short calls in sequence. */
function manyCalls(each: number): TimedEvent[] {
  const events: TimedEvent[] = [
    [0, emit.input('Look them all up.')],
    [0, emit.runStart({ inputs: [1] })],
    [0, emit.roundStart(1)],
  ]
  const indexes = Array.from({ length: each }, (_, index) => index)
  for (const index of indexes)
    events.push(
      [100 + index * 2, emit.toolInputStart(`c${index}`)],
      [101 + index * 2, emit.toolCall(`c${index}`)],
    )
  events.push([10_100, emit.roundEnd(1)])
  for (const index of indexes) events.push([12_000 + index * 2, emit.toolStart(`c${index}`)])
  for (const index of indexes) events.push([22_000 + index, emit.toolResult(`c${index}`, 9000)])
  events.push([27_000, emit.roundStart(2)])
  for (const index of indexes) {
    const at = 27_100 + index * 4
    const id = `d${index}`
    events.push(
      [at, emit.toolInputStart(id)],
      [at + 1, emit.toolCall(id)],
      [at + 1, emit.toolStart(id)],
      [at + 3, emit.toolResult(id, 2)],
    )
  }
  return [...events, [47_200, emit.roundEnd(2)], [47_200, emit.runEnd()]]
}
