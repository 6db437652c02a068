import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { describePage } from './page.test-kit.ts'
import { openStage } from './stage.test-kit.ts'

/** Disables scroll anchoring, as in a browser without it. */
const without = `
  CSS.supports = () => false
  document.documentElement.style.overflowAnchor = 'none'
  document.head.append(Object.assign(document.createElement('style'), { textContent: '.virtual { overflow-anchor: none }' }))
`

const script = `
  import { h, render, createRef } from 'preact'
  import { VirtualList } from './virtual/virtual-list.tsx'

  const main = document.getElementById('stage')
  main.style.height = '600px'
  main.style.display = 'grid'
  main.style.gridTemplateRows = 'minmax(0, 1fr)'
  const handle = createRef()
  const seen = { atEnd: [], rendered: 0 }
  let rows = []
  let options = {}
  const Row = ({ row }) =>
    h('div', { style: { height: row.height + 'px' } },
      Array.from({ length: row.parts }, (_, i) => h('p', { key: i, style: { height: '50px', margin: 0 } }, row.name + ' part ' + i)),
      h('button', { type: 'button' }, row.name))
  const draw = () => render(h(VirtualList, {
    label: 'Rows',
    count: rows.length,
    keyOf: (index) => rows[index].name,
    estimate: () => 40,
    render: (index) => (seen.rendered++, h(Row, { row: rows[index] })),
    handle,
    onAtEnd: (is) => seen.atEnd.push(is),
    ...options,
  }), main)
  let next = 0
  Object.assign(window, {
    seen,
    rows: () => rows,
    list: () => handle.current,
    make: (count, height = 30) => Array.from({ length: count }, () => ({ name: 'row ' + next++, height: typeof height === 'function' ? height(next) : height, parts: 0 })),
    start(made, more = {}) {
      rows = made
      options = more
      draw()
    },
    change(act) {
      rows = act(rows) ?? rows
      draw()
    },
  })
`

/** Only turns a hang into a failure. */
const longTimeout = { timeout: 60_000 }

interface Made {
  name: string
  height: number | undefined
  parts: number
}
interface Stage {
  readonly seen: { atEnd: boolean[]; rendered: number }
  rows(): Made[]
  list(): { scrollTo(index: number, align?: 'start' | 'end'): void; toEnd(): void }
  make(count: number, height?: number | ((index: number) => number)): Made[]
  start(rows: Made[], options?: object): void
  change(act: (rows: Made[]) => Made[] | void): void
}
declare const window: Stage & typeof globalThis.window

/** Waits for layout, resize observers, and the render after that. */
const settled = (page: Page) =>
  page.evaluate(async () => {
    for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame)
  })

const names = (page: Page) =>
  page.evaluate(() => {
    const list = document.querySelector('.virtual') as HTMLElement
    const { top, bottom } = list.getBoundingClientRect()
    return [...list.querySelectorAll('[data-row]')]
      .filter(
        (row) => row.getBoundingClientRect().bottom > top + 1 && row.getBoundingClientRect().top < bottom - 1,
      )
      .map((row) => row.querySelector('button')?.textContent)
  })

/** The position of an element on the screen. */
const topOf = (page: Page, text: string) =>
  page.getByText(text, { exact: true }).evaluate((element) => Math.round(element.getBoundingClientRect().top))

const scrollTop = (page: Page) => page.getByRole('group', { name: 'Rows' }).evaluate((list) => list.scrollTop)

const fromEnd = (page: Page) =>
  page
    .getByRole('group', { name: 'Rows' })
    .evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight)

async function scrollBy(page: Page, pixels: number): Promise<void> {
  const before = await scrollTop(page)
  await page.mouse.move(300, 300)
  await page.mouse.wheel(0, pixels)
  await expect.poll(() => scrollTop(page), longTimeout).not.toBe(before)
  await settled(page)
}

/** Like dragging the scroll bar, or touch. */
async function dragBy(page: Page, pixels: number): Promise<void> {
  await page.getByRole('group', { name: 'Rows' }).evaluate((list, by) => (list.scrollTop += by), pixels)
  await settled(page)
}

describe.each([
  ['with scroll anchoring of the browser', script],
  ['without it', script + without],
])('the virtual list %s', (name, script) =>
  describePage(name, (visit) => {
    test('has few nodes for 100,000 rows', async () => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => window.start(window.make(100_000, (n) => 20 + (n % 7) * 10)))
      await settled(page)
      const nodes = () => page.evaluate(() => document.querySelectorAll('.virtual *').length)
      expect(await names(page)).toContain('row 0')
      expect(await nodes()).toBeLessThan(150)
      for (const index of [50_000, 99_999, 12_345, 0]) {
        await page.evaluate((to) => window.list().scrollTo(to), index)
        await settled(page)
        expect(await names(page)).toContain(`row ${index}`)
        expect(await nodes()).toBeLessThan(150)
      }
      await page.evaluate(() => {
        window.seen.rendered = 0
        window.change((rows) => void rows.push(...window.make(1)))
      })
      await settled(page)
      expect(await page.evaluate(() => window.seen.rendered)).toBeLessThan(100)
    })

    test('stays at the end while rows are added and grow', async () => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => window.start(window.make(500), { stick: true }))
      await settled(page)
      expect(await names(page)).toContain('row 499')
      expect(await fromEnd(page)).toBeLessThan(1)
      for (let i = 0; i < 5; i++) {
        await page.evaluate(() =>
          window.change((rows) => {
            rows.push(...window.make(30, 55))
            rows.splice(-1, 1, { ...(rows.at(-1) as Made), height: 400 })
          }),
        )
        await settled(page)
        expect(await fromEnd(page)).toBeLessThan(1)
      }
      expect(await names(page)).toContain('row 649')
      expect(await page.evaluate(() => window.seen.atEnd)).toEqual([true])
    })

    test.each([
      ['by the wheel', scrollBy],
      ['by dragging', dragBy],
    ])('stays in place after scrolling up %s, and follows again from the end', async (_, scroll) => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => window.start(window.make(500), { stick: true }))
      await settled(page)
      await scroll(page, -5)
      const seen = await names(page)
      const name = seen[3] ?? ''
      const before = await topOf(page, name)
      for (let i = 0; i < 5; i++) {
        await page.evaluate(() => window.change((rows) => void rows.push(...window.make(10, 80))))
        await settled(page)
        expect(await topOf(page, name)).toBe(before)
      }
      expect(await page.evaluate(() => window.seen.atEnd)).toEqual([true, false])
      await page.evaluate(() => window.list().toEnd())
      await settled(page)
      expect(await fromEnd(page)).toBeLessThan(1)
      await page.evaluate(() => window.change((rows) => void rows.push(...window.make(10, 80))))
      await settled(page)
      expect(await fromEnd(page)).toBeLessThan(1)
      expect(await page.evaluate(() => window.seen.atEnd)).toEqual([true, false, true])
    })

    test('keeps the position inside a row that grows below or above it', async () => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => {
        const rows = window.make(50)
        rows.push({ name: 'long', height: undefined, parts: 60 })
        window.start(rows, { stick: true })
      })
      await settled(page)
      await scrollBy(page, -1200)
      const before = await topOf(page, 'long part 35')
      for (let i = 0; i < 3; i++) {
        await page.evaluate(() => window.change((rows) => void (rows.at(-1) as Made).parts++))
        await settled(page)
        expect(await topOf(page, 'long part 35')).toBe(before)
      }
      await page.getByText('long part 5', { exact: true }).evaluate((part) => (part.style.height = '700px'))
      await settled(page)
      expect(await topOf(page, 'long part 35')).toBe(before)
    })

    test('keeps the position when rows are inserted above, or are higher than estimated', async () => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => window.start(window.make(1000, (n) => 20 + (n % 9) * 15)))
      await page.evaluate(() => window.list().scrollTo(500, 'start'))
      await settled(page)
      const name = (await names(page))[2] ?? ''
      const before = await topOf(page, name)
      await page.evaluate(() => window.change((rows) => [...window.make(200, 77), ...rows]))
      await settled(page)
      expect(await topOf(page, name)).toBe(before)
      await page.evaluate(() => window.change((rows) => void rows.splice(0, 150)))
      await settled(page)
      expect(await topOf(page, name)).toBe(before)
      // Up, over rows that were not rendered yet.
      for (let i = 0; i < 10; i++) {
        const first = (await names(page))[1] ?? ''
        const from = await topOf(page, first)
        await page.mouse.move(300, 300)
        await page.mouse.wheel(0, -100)
        await expect.poll(() => topOf(page, first), longTimeout).toBe(from + 100)
        await settled(page)
        expect(await topOf(page, first)).toBe(from + 100)
      }
    })

    test('scrolls by keyboard, to both ends', async () => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => window.start(window.make(2000, (n) => 25 + (n % 5) * 20)))
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Rows')
      for (const [key, name, left] of [
        ['End', 'row 1999', 0],
        ['Home', 'row 0', undefined],
      ] as const) {
        await page.keyboard.press(key)
        await settled(page)
        expect(await names(page)).toContain(name)
        if (left !== undefined) expect(await fromEnd(page)).toBeLessThan(1)
        else expect(await scrollTop(page)).toBe(0)
      }
      for (const key of ['PageDown', 'ArrowDown', 'PageUp']) {
        const before = await scrollTop(page)
        await page.keyboard.press(key)
        await expect.poll(() => scrollTop(page), longTimeout).not.toBe(before)
        await settled(page)
      }
    })

    test('keeps the focused row while it is out of view', async () => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => window.start(window.make(5000)))
      await settled(page)
      await page.getByRole('button', { name: 'row 5', exact: true }).focus()
      const hasFocus = () => page.evaluate(() => document.activeElement?.textContent)
      for (const pixels of [400, 3000, 60_000, -30_000]) {
        await scrollBy(page, pixels)
        expect(await hasFocus()).toBe('row 5')
      }
      await page.evaluate(() => window.change((rows) => [...window.make(20), ...rows]))
      await settled(page)
      expect(await hasFocus()).toBe('row 5')
      await page.getByRole('group', { name: 'Rows' }).focus()
      await scrollBy(page, 400)
      expect(await page.getByRole('button', { name: 'row 5', exact: true }).count()).toBe(0)
    })

    test('keeps its position while it is hidden', async () => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => window.start(window.make(1000, 70)))
      await page.evaluate(() => window.list().scrollTo(500, 'start'))
      await settled(page)
      const before = await names(page)
      const show = (value: string) =>
        page.locator('#stage').evaluate((stage, display) => (stage.style.display = display), value)
      await show('none')
      await settled(page)
      await page.evaluate(() => window.change((rows) => void rows.push(...window.make(10))))
      await settled(page)
      await show('grid')
      await page.evaluate(() => window.list().scrollTo(500, 'start'))
      await settled(page)
      expect(await names(page)).toEqual(before)
      expect(await page.locator('.virtual *').count()).toBeLessThan(150)
    })

    test('each row has its position and the total count', async () => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => window.start(window.make(300), { role: 'list', rowRole: 'listitem' }))
      await settled(page)
      const rows = page.getByRole('list', { name: 'Rows' }).getByRole('listitem')
      expect(await rows.first().getAttribute('aria-posinset')).toBe('1')
      expect(await rows.first().getAttribute('aria-setsize')).toBe('300')
    })

    test('can be empty, shrink, or change its rows', async () => {
      const page = await visit(await openStage(script))
      await page.evaluate(() => window.start([], { stick: true }))
      await settled(page)
      expect(await names(page)).toEqual([])
      await page.evaluate(() => window.change((rows) => void rows.push(...window.make(1000))))
      await settled(page)
      expect(await names(page)).toContain('row 999')
      await page.evaluate(() => window.change((rows) => rows.slice(0, 3)))
      await settled(page)
      expect(await names(page)).toEqual(['row 0', 'row 1', 'row 2'])
      await page.evaluate(() => window.change(() => window.make(5)))
      await settled(page)
      expect(await names(page)).toEqual(['row 1000', 'row 1001', 'row 1002', 'row 1003', 'row 1004'])
    })
  }),
)
