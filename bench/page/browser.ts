import type { Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { findChromium, howToGetIt, launchArgs } from '../../test/page/browser.ts'
import { Misuse } from '../runner/command.ts'
import type { MainThread } from './main-thread.ts'
import { mainThreadOf } from './main-thread.ts'

export interface Browser {
  readonly version: string
  /** An empty page in a context of its own, which ends with the visit. What the page throws fails the visit. */
  visit<Seen>(look: (page: Page, thread: MainThread) => Promise<Seen>): Promise<Seen>
  close(): Promise<void>
}

export interface BrowserOptions {
  readonly executablePath: string
  /** Frames follow each other as fast as they are drawn, where the next one does not wait for anything but the last. */
  readonly hurried: boolean
}

/** Only turns a hang into a failure. */
const patienceMs = 1_800_000

export async function chromiumPath(): Promise<string> {
  const path = await findChromium().catch(({ message }: Error) => {
    throw new Misuse(message)
  })
  if (path === undefined) throw new Misuse(`there is no Chromium: ${howToGetIt}`)
  return path
}

export async function openBrowser({ executablePath, hurried }: BrowserOptions): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath,
    args: [...launchArgs, ...(hurried ? ['--disable-frame-rate-limit'] : [])],
    // Whoever is interrupted closes it.
    handleSIGINT: false,
    handleSIGTERM: false,
  })
  return {
    version: browser.version(),
    async visit(look) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
      context.setDefaultTimeout(patienceMs)
      const thrown = Promise.withResolvers<never>()
      thrown.promise.catch(() => {})
      context.on('weberror', (error) => thrown.reject(error.error()))
      try {
        const page = await context.newPage()
        const seen = mainThreadOf(page).then((thread) => look(page, thread))
        return await Promise.race([seen, thrown.promise])
      } finally {
        await context.close()
      }
    },
    close: () => browser.close(),
  }
}
