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
import { afterAll, beforeAll, describe, expect, inject, onTestFinished } from 'vitest'
import { root } from '../root.ts'
import { launchArgs } from './browser.ts'
import { watchContext } from './watch-context.ts'

export const desktop = { width: 1280, height: 800 }
export const phone = { width: 390, height: 844 }

/** Only turns a hang into a failure that says what was waited for, before the test's own limit says less. */
const patienceMs = 60_000

/** Whoever leaves a thread, or loads the page again, before its socket is open: the browser remarks on it, and nothing is lost. */
const leftEarly = /WebSocket is closed before the connection is established/

interface VisitOptions extends BrowserContextOptions {
  /** What a browser may complain of in this test, such as a server that was killed. */
  readonly tolerates?: readonly RegExp[]
}

/** Opens an address in a context of its own: another tab is `page.context().newPage()`, another person another visit. */
export type Visit = (url: string, options?: VisitOptions) => Promise<Page>

/**
 * Tests of the page, in the one browser that all files share, or in one of their own that is started with these arguments. They are skipped where there is none. A test fails, whatever else it has
 * seen, if the browser had something to complain of, or asked anybody but the server for anything.
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
      context.setDefaultTimeout(patienceMs)
      const complaints = watchContext(context, new URL(url).origin)
      onTestFinished(async () => {
        await context.close()
        const tolerated = [leftEarly, ...tolerates]
        expect(complaints.filter((one) => !tolerated.some((pattern) => pattern.test(one)))).toEqual([])
      })
      const page = await context.newPage()
      await page.goto(url)
      return page
    })
  })
}

/** A picture for whoever wants to see what the tests saw; with `SCREENSHOTS=1` those of the README are made anew. */
export async function screenshot(page: Page, name: string, { inReadme = false } = {}): Promise<void> {
  const picture = { animations: 'disabled', caret: 'hide' } as const
  await page.screenshot({ ...picture, path: join(root, 'test', 'page', 'screenshots', `${name}.png`) })
  if (inReadme && process.env.SCREENSHOTS === '1')
    await page.screenshot({ ...picture, path: join(root, 'docs', 'images', `${name}.png`) })
}

/** What was downloaded. The browser is another process's, which keeps its files to itself. */
export async function textOfDownload(download: Download): Promise<string> {
  return text(await download.createReadStream())
}

/** Writes into the composer and sends it. */
export async function say(page: Page, message: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(message)
  await page.keyboard.press('Enter')
}

/** What a person sees of the conversation; for those who listen it is told a second time elsewhere. */
export function seen(page: Page): Locator {
  return page.getByRole('group', { name: 'Conversation' })
}
