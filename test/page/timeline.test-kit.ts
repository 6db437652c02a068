import { memoryStore } from 'millrace'
import type { Entry } from 'millrace/client'
import type { ScriptRound } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { openDesk } from './desk.ts'
import type { Visit } from './page.test-kit.ts'

export async function openTimeline(
  visit: Visit,
  log: readonly Entry[],
  script: ScriptRound[] = [],
  options: Parameters<Visit>[1] = {},
): Promise<Page> {
  const store = memoryStore()
  const { url } = await openDesk({ script, app: { store } })
  await store.create({ id: 'kept', agent: 'support' }, { entries: log })
  const page = await visit(`${url}/#/threads/kept`, options)
  await page.getByRole('button', { name: 'Inspect' }).click()
  await page.getByRole('tab', { name: 'Timeline' }).click()
  return page
}

export function bar(page: Page, name: string | RegExp) {
  return page.locator('.timeline-sheet').getByRole('button', { name })
}

export function focused(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')
}
