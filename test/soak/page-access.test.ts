import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDesk } from '../page/desk.ts'
import { everything } from '../page/everything.ts'
import { describePage, desktop, phone, say, seen } from '../page/page.test-kit.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  readonly id: string
  readonly impact: string
  readonly where: readonly string[]
}

/** The serious violations that axe finds in the current page. */
async function findings(page: Page): Promise<Finding[]> {
  await page.evaluate(axe)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Violation[] }> }
    }
    interface Violation {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
    }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      where: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 300)} ${failureSummary}`),
    }))
  })
  return found.filter(({ impact }) => impact === 'serious' || impact === 'critical')
}

const looks = [
  { colorScheme: 'light', viewport: desktop },
  { colorScheme: 'dark', viewport: desktop },
  { colorScheme: 'light', viewport: phone },
  { colorScheme: 'dark', viewport: phone },
] as const

describePage('axe finds nothing serious', (visit) => {
  test.each(looks)('in $colorScheme colors, $viewport.width wide', async (look) => {
    const { url } = await openDesk({ script: everything })
    const page = await visit(url, look)
    const isPhone = look.viewport === phone
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    expect(await findings(page)).toEqual([])

    await say(page, 'Refund ORD-42 and ORD-99')
    await page.getByRole('button', { name: /^allow/i }).waitFor()
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: /^allow/i }).click()
    await seen(page).getByText('It is done.').waitFor()
    expect(await findings(page)).toEqual([])

    if (isPhone) {
      await page.getByRole('button', { name: 'Threads' }).click()
      await page.getByRole('searchbox').waitFor()
      expect(await findings(page)).toEqual([])
      await page.getByRole('button', { name: 'Threads' }).click()
    }
    await page
      .getByRole('button', { name: /^details/i })
      .first()
      .click()
    await page.getByRole('tabpanel', { name: 'Detail' }).waitFor()
    expect(await findings(page)).toEqual([])
    for (const tab of ['Timeline', 'Detail', 'Events']) {
      await page.getByRole('tab', { name: tab }).click()
      expect([tab, ...(await findings(page))]).toEqual([tab])
    }
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
    await page.getByRole('dialog').waitFor()
    expect(await findings(page)).toEqual([])
  })
})
