import type { Page } from 'playwright-core'

/** What the main thread of a page has done, in milliseconds of its own CPU time: whatever else runs on the machine is not in it. */
export interface Work {
  readonly ms: number
  /** Of these: scripts of the page. */
  readonly script: number
  /** Of these: styles and layout. */
  readonly layout: number
}

export interface MainThread {
  /** Since the document that is shown now was begun. */
  work(): Promise<Work>
  /** Everything that the browser keeps for the page after a collection, in the document or not. */
  nodes(): Promise<number>
}

/** To be called before there is anything to count. */
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
