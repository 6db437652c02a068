import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Download,
  type Locator,
  type Page,
} from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, vi } from 'vitest'
import { root } from '../root.ts'
import { launchArgs } from './browser.ts'
import { watchContext } from './watch-context.ts'

export const desktop = { width: 1280, height: 800 }
export const phone = { width: 390, height: 844 }

/** Turns a hang into an error that names the locator, before the less specific test timeout. */
const longTimeoutMs = 60_000

/** Logged by the browser if a thread is left or the page reloaded before the socket is open. */
const closedEarly = /WebSocket is closed before the connection is established/

interface VisitOptions extends BrowserContextOptions {
  /** Browser errors that this test expects, such as those of a killed server. */
  readonly tolerates?: readonly RegExp[]
}

/** Opens a URL in a new browser context. For another tab, use `page.context().newPage()`. */
export type Visit = (url: string, options?: VisitOptions) => Promise<Page>

/**
 * Page tests in the shared browser, or in a new one if `args` are given. Skipped without a browser.
 * A test also fails if the browser logs an error or sends a request to another origin.
 */
export function describePage(
  name: string,
  body: (visit: Visit) => void,
  { args = [] }: { readonly args?: readonly string[] } = {},
): void {
  const executablePath = inject('chromium')
  describe.skipIf(executablePath === '')(name, () => {
    let browser: Browser
    beforeAll(async () => {
      browser =
        args.length > 0
          ? await chromium.launch({ executablePath, args: [...launchArgs, ...args] })
          : await chromium.connect(inject('browser'))
    })
    afterAll(() => browser?.close())

    body(async (url, { tolerates = [], ...options } = {}) => {
      const context = await browser.newContext({ viewport: desktop, ...options })
      context.setDefaultTimeout(longTimeoutMs)
      const complaints = watchContext(context, new URL(url).origin)
      onTestFinished(async () => {
        await context.close()
        const tolerated = [closedEarly, ...tolerates]
        expect(complaints.filter((one) => !tolerated.some((pattern) => pattern.test(one)))).toEqual([])
      })
      const page = await context.newPage()
      await page.goto(url)
      return page
    })
  })
}

/** Saves a screenshot. With `SCREENSHOTS=1`, also updates the images of the README. */
export async function screenshot(page: Page, name: string, { inReadme = false } = {}): Promise<void> {
  const picture = { animations: 'disabled', caret: 'hide' } as const
  await page.screenshot({ ...picture, path: join(root, 'test', 'page', 'screenshots', `${name}.png`) })
  if (inReadme && process.env.SCREENSHOTS === '1')
    await page.screenshot({ ...picture, path: join(root, 'docs', 'images', `${name}.png`) })
}

/** The content of a download. The shared browser runs in another process, so it is streamed. */
export async function textOfDownload(download: Download): Promise<string> {
  return text(await download.createReadStream())
}

/** Sends a message. */
export async function say(page: Page, message: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(message)
  await page.keyboard.press('Enter')
}

/** The visible conversation, without the announcements for screen readers. */
export function seen(page: Page): Locator {
  return page.getByRole('group', { name: 'Conversation' })
}

/**
 * Clicks a button and returns what it copied. The clipboard belongs to the browser, which tests in
 * other files share: one at a time uses it.
 */
export async function copied(button: Locator): Promise<string> {
  const page = button.page()
  const lock = join(tmpdir(), `millrace-clipboard-${new URL(inject('browser')).port}`)
  const isFree = () =>
    mkdir(lock).then(
      () => true,
      () => false,
    )
  await vi.waitUntil(isFree, { timeout: longTimeoutMs, interval: 20 })
  try {
    const before = `nothing yet ${Math.random()}`
    await page.evaluate((text) => navigator.clipboard.writeText(text), before)
    await button.click()
    const read = () => page.evaluate(() => navigator.clipboard.readText())
    await expect.poll(read, { timeout: longTimeoutMs }).not.toBe(before)
    return await read()
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}
