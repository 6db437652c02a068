import { scriptedModel } from 'millrace/testing'
import { grouped } from '../harness/report.ts'
import { type Browser, since } from './browser.ts'
import { type Measured, rowOf, type Size } from './part.ts'
import type { Reader } from './stage/contract.ts'
import { type App, openApp, openStage } from './stage.ts'

declare const window: Reader & typeof globalThis.window

/** How far the list is scrolled in each frame, in pixels: a fast wheel. */
const step = 240

/**
 * Scrolls the thread list from its start to its end. Pages are fetched on the way. The floor
 * fetches and parses the same pages, and shows nothing.
 */
export async function measureListing(
  browser: Browser,
  { threads, runs }: Size['list'],
  onStep: (step: string) => void,
): Promise<Measured> {
  const stage = await openStage('reader')
  const app = await openApp(scriptedModel([]), stage.url)
  try {
    for (let number = 1; number <= threads; number++)
      await app.store.create({
        id: `thread_${number}`,
        agent: 'desk',
        label: { title: `Question ${number} about an order`, search: '' },
      })
    const ours: Record<string, number>[] = []
    const floor: Record<string, number>[] = []
    for (let run = 1; run <= runs; run++) {
      onStep(`a list of ${grouped(threads)} threads, run ${run}`)
      const { pages, ...seen } = await scrollList(browser, app)
      ours.push(seen)
      floor.push(
        await browser.visit(async (page, thread) => {
          await page.goto(stage.url)
          await page.evaluate((addresses) => window.read(addresses), pages)
          return { ...(await thread.work()), nodes: await thread.nodes(), requests: pages.length }
        }),
      )
    }
    return {
      name: 'listing',
      title: `Scrolling through a list of ${grouped(threads)} threads`,
      rows: [
        rowOf('floor', 'floor: the same pages fetched and parsed', floor),
        rowOf('ours', 'Millrace', ours),
      ],
    }
  } finally {
    await app.close()
    await stage.close()
  }
}

function scrollList(browser: Browser, { url }: App) {
  return browser.visit(async (page, thread) => {
    const pages: string[] = []
    page.on('request', (request) => {
      if (/\/threads\?/.test(request.url())) pages.push(request.url())
    })
    await page.goto(url)
    await page.locator('a[href*="/threads/thread_"]').first().waitFor()
    const before = await thread.work()
    // The oldest thread is the last of the list.
    const frames = await page.evaluate(scrollThrough, { step, last: '/threads/thread_1' })
    const work = since(before, await thread.work())
    return { ...work, perFrame: work.ms / frames, nodes: await thread.nodes(), requests: pages.length, pages }
  })
}

/** Runs inside the page. Returns the number of frames. */
function scrollThrough({ step, last }: { readonly step: number; readonly last: string }): Promise<number> {
  let list = document.querySelector('a[href*="/threads/thread_"]')
  while (list && getComputedStyle(list).overflowY !== 'auto') list = list.parentElement
  if (!list) throw new Error('the page has no list to scroll')
  return new Promise((resolve) => {
    let frames = 0
    function scroll() {
      frames++
      list?.scrollBy(0, step)
      if (list?.querySelector(`a[href$="${last}"]`)) resolve(frames)
      else requestAnimationFrame(scroll)
    }
    requestAnimationFrame(scroll)
  })
}
