import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { everything } from './everything.ts'
import { describePage, seen } from './page.test-kit.ts'

describePage('with only a keyboard', (visit) => {
  test('a user can ask, approve, inspect and start a new thread', async () => {
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

  test('single-key shortcuts can be turned off, and the theme changed', async () => {
    const { url } = await openDesk({ script: everything })
    const page = await visit(url)
    await page.keyboard.press('?')
    await page.getByRole('checkbox', { name: /single/i }).press('Space')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    expect(await page.getByRole('dialog').count()).toBe(0)
    const theme = page.getByRole('button', { name: /^Theme: / })
    expect(await theme.getAttribute('aria-label')).toBe('Theme: system (switch to light)')
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    const light = await background()
    await theme.click()
    await theme.click()
    expect(await background()).not.toBe(light)
    await page.reload()
    expect(await background()).not.toBe(light)
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
  throw new Error(`Tab does not reach ${name}`)
}
