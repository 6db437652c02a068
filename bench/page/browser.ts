import { chromium, type Page } from 'playwright-core'
import { findChromium, installHint, launchArgs } from '../../test/page/browser.ts'
import { Misuse } from '../harness/options.ts'

export interface Browser {
  readonly version: string
  /**
   * Opens an empty page in its own context and closes it afterwards. Rejects if the page throws.
   */
  visit<Seen>(look: (page: Page, thread: MainThread) => Promise<Seen>): Promise<Seen>
  close(): Promise<void>
}

export interface BrowserOptions {
  readonly executablePath: string
  /** Draws frames as fast as possible, without the frame rate limit. */
  readonly hurried: boolean
}

/** Only turns a hang into a failure. */
const patienceMs = 1_800_000

export async function chromiumPath(): Promise<string> {
  const path = await findChromium().catch(({ message }: Error) => {
    throw new Misuse(message)
  })
  if (path === undefined) throw new Misuse(`Chromium not found: ${installHint}`)
  return path
}

export async function openBrowser({ executablePath, hurried }: BrowserOptions): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath,
    args: [...launchArgs, ...(hurried ? ['--disable-frame-rate-limit'] : [])],
    // The caller closes it on an interrupt.
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

/** CPU time of the page's main thread in milliseconds, without anything else on the machine. */
export interface Work {
  readonly ms: number
  /** The part in scripts. */
  readonly script: number
  /** The part in styles and layout. */
  readonly layout: number
}

export interface MainThread {
  /** Since the start of the current document. */
  work(): Promise<Work>
  /** DOM nodes that the browser keeps after a garbage collection, in the document or not. */
  nodes(): Promise<number>
}

/** Call it before there is anything to count. */
export async function mainThreadOf(page: Page): Promise<MainThread> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })

  async function metrics(): Promise<Readonly<Record<string, number>>> {
    const { metrics: all } = await session.send('Performance.getMetrics')
    return Object.fromEntries(all.map(({ name, value }) => [name, value]))
  }

  return {
    async work() {
      const {
        TaskDuration = 0,
        ScriptDuration = 0,
        LayoutDuration = 0,
        RecalcStyleDuration = 0,
      } = await metrics()
      return {
        ms: TaskDuration * 1000,
        script: ScriptDuration * 1000,
        layout: (LayoutDuration + RecalcStyleDuration) * 1000,
      }
    },
    async nodes() {
      await session.send('HeapProfiler.collectGarbage')
      const { Nodes = 0 } = await metrics()
      return Nodes
    },
  }
}

export const since = (before: Work, now: Work): Work => ({
  ms: now.ms - before.ms,
  script: now.script - before.script,
  layout: now.layout - before.layout,
})
