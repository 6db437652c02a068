import { client } from 'millrace/client'
import type { Page } from 'playwright-core'

/** Actions and locators of the thread list. */
export function listOf(page: Page) {
  const nav = page.getByRole('navigation', { name: 'Threads' })
  const row = (title: string) => nav.getByRole('listitem').filter({ hasText: title })
  return {
    nav,
    row,
    titles: () => nav.locator('.threads-title').allTextContents(),
    search: nav.getByRole('searchbox', { name: 'Search threads' }),
    /** Sets a filter in the popover, and closes it. */
    async filter(label: string, option: string) {
      await nav.getByRole('button', { name: 'Filter', exact: true }).click()
      await page.getByRole('dialog', { name: 'Filter threads' }).getByLabel(label).selectOption(option)
      await page.keyboard.press('Escape')
    },
    async choose(title: string, action: string) {
      await row(title).getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: action }).click()
    },
  }
}

/** Sends a message in a new thread, with another client, and waits for the run. */
export async function talk(url: string, id: string, message: string) {
  const thread = await client(url).create({ id })
  const until = await thread.send(message)
  for await (const _ of thread.follow({ until }));
  return thread
}

export const answers = () => 'So be it.'
/** Only turns a hang into a failure. */
export const longTimeout = { timeout: 60_000 }
