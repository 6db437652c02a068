import axe from 'axe-core'
import type { Page } from 'playwright-core'

declare const window: { readonly axe: typeof axe } & typeof globalThis.window

/** The serious findings of axe on the page as it is now. */
export async function seriousProblems(page: Page) {
  await page.evaluate(`${axe.source}; undefined`)
  const found = await page.evaluate(() => window.axe.run(document))
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])
}
