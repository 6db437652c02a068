import { expect, test } from 'vitest'
import type { Told } from '../../packages/inspector/timeline/written.test-kit.ts'
import { entriesOf, tell } from '../../packages/inspector/timeline/written.test-kit.ts'
import { describePage } from './page.test-kit.ts'
import { bar, focused, openTimeline } from './timeline.test-kit.ts'

const each = 5000

describePage('the timeline of very many calls', (visit) => {
  test('draws only so much, however many calls there are', async () => {
    const page = await openTimeline(visit, entriesOf(crowd(each)))
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
    await page.getByText('As a table').click()
    await page.getByRole('button', { name: /^[\d,]+ more$/ }).waitFor()
    expect(await count()).toBeLessThan(2000)
  })

  test('keeps the focus where it is while everything else is scrolled', async () => {
    const page = await openTimeline(visit, entriesOf(crowd(each)))
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

/** So many calls at once, each waiting for its turn; and as many one after the other, too thin to be told apart. */
function crowd(each: number): Told[] {
  const told: Told[] = [
    [0, tell.says('Look them all up.')],
    [0, tell.starts({ heard: [1] })],
    [0, tell.round(1)],
  ]
  const indexes = Array.from({ length: each }, (_, index) => index)
  for (const index of indexes)
    told.push([100 + index * 2, tell.writes(`c${index}`)], [101 + index * 2, tell.calls(`c${index}`)])
  told.push([10_100, tell.roundEnds(1)])
  for (const index of indexes) told.push([12_000 + index * 2, tell.runs(`c${index}`)])
  for (const index of indexes) told.push([22_000 + index, tell.result(`c${index}`, 9000)])
  told.push([27_000, tell.round(2)])
  for (const index of indexes) {
    const at = 27_100 + index * 4
    const id = `d${index}`
    told.push(
      [at, tell.writes(id)],
      [at + 1, tell.calls(id)],
      [at + 1, tell.runs(id)],
      [at + 3, tell.result(id, 2)],
    )
  }
  return [...told, [47_200, tell.roundEnds(2)], [47_200, tell.ends()]]
}
