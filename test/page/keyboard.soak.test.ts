import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { everything } from './everything.ts'
import { describePage, say } from './page.test-kit.ts'

/** Whether the focused element has a visible focus indicator. */
async function focusIsVisible(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement: element } = document
    if (!element || element === document.body) return 'nothing has the focus'
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    const visible = element.matches(':focus-visible') && outlineStyle !== 'none' && outlineWidth !== '0px'
    return visible ? 'visible' : `not visible on ${element.outerHTML.slice(0, 200)}`
  })
}

describePage('with only a keyboard', (visit) => {
  test('every focused element has a visible focus indicator', async () => {
    const { url } = await openDesk({ script: everything })
    const page = await visit(url)
    await say(page, 'Refund ORD-42 and ORD-99')
    await page.getByRole('button', { name: /^allow/i }).waitFor()
    await page.getByRole('button', { name: 'Inspect' }).click()
    const hidden = new Set<string>()
    for (let steps = 0; steps < 80; steps++) {
      await page.keyboard.press('Tab')
      const seen = await focusIsVisible(page)
      // After the last element, the browser itself has the focus.
      if (seen !== 'visible' && seen !== 'nothing has the focus') hidden.add(seen)
    }
    expect([...hidden]).toEqual([])
  })
})
