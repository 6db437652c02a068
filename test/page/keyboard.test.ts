import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { everything } from './everything.ts'
import { describePage, say, seen } from './page.test-kit.ts'

/** Whether the focused element has a visible focus indicator. */
async function focusIsVisible(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement: element } = document
    if (!element || element === document.body) return 'nothing has the focus'
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    const visible = element.matches(':focus-visible') && outlineStyle !== 'none' && outlineWidth !== '0px'
    return visible ? 'visible' : `not to be seen on ${element.outerHTML.slice(0, 200)}`
  })
}

describePage('with nothing but a keyboard', (visit) => {
  test('a person asks, decides, looks closer and begins anew', async () => {
    const { url } = await openDesk({ script: everything })
    const page = await visit(url)
    await page.keyboard.press('/')
    await page.keyboard.type('Refund ORD-42')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^allow/i }).waitFor()
    await tabTo(page, /^allow/i)
    await page.keyboard.press('Enter')
    await seen(page).getByText('It is done.').waitFor()

    await page.keyboard.press('Escape')
    await page.keyboard.press('i')
    await page.getByRole('tab', { name: 'Timeline' }).waitFor()
    await tabTo(page, /^timeline$/i, 'tab')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    expect(await page.getByRole('tab', { name: 'Events' }).getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('n')
    await expect.poll(() => new URL(page.url()).hash).toBe('#/')
  })

  test('whatever can be reached shows that it is', async () => {
    const { url } = await openDesk({ script: everything })
    const page = await visit(url)
    await say(page, 'Refund ORD-42 and ORD-99')
    await page.getByRole('button', { name: /^allow/i }).waitFor()
    await page.getByRole('button', { name: 'Inspect' }).click()
    const hidden = new Set<string>()
    for (let steps = 0; steps < 80; steps++) {
      await page.keyboard.press('Tab')
      const seen = await focusIsVisible(page)
      // Behind the last one comes the browser's own.
      if (seen !== 'visible' && seen !== 'nothing has the focus') hidden.add(seen)
    }
    expect([...hidden]).toEqual([])
  })

  test('single keys can be switched off, and colours chosen', async () => {
    const { url } = await openDesk({ script: everything })
    const page = await visit(url)
    await page.keyboard.press('?')
    await page.getByRole('checkbox', { name: /single/i }).press('Space')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    expect(await page.getByRole('dialog').count()).toBe(0)
    const colours = page.getByRole('button', { name: /colours/i })
    const back = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    const light = await back()
    await colours.click()
    await colours.click()
    expect(await back()).not.toBe(light)
    await page.reload()
    expect(await back()).not.toBe(light)
  })
})

async function tabTo(page: Page, name: RegExp, role = 'button') {
  for (let steps = 0; steps < 200; steps++) {
    const focused = await page.evaluate(() => {
      const { activeElement: element } = document
      const label = element?.getAttribute('aria-label') ?? element?.textContent ?? ''
      return { label: label.trim(), role: element?.getAttribute('role') ?? element?.localName }
    })
    if (name.test(focused.label) && focused.role === role) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not lead to ${name}`)
}
