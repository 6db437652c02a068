import { scriptedModel } from 'millrace/testing'
import { grouped } from '../harness/report.ts'
import type { Browser } from './browser.ts'
import { longLog } from './long-log.ts'
import { type Measured, rowOf, type Size } from './part.ts'
import type { Reader } from './stage/contract.ts'
import { type App, openApp, openStage } from './stage.ts'

declare const window: Reader & typeof globalThis.window

/**
 * Opens a long thread at its end. The floor fetches and parses the same pages, and shows nothing.
 */
export async function measureOpening(
  browser: Browser,
  { events, runs }: Size['thread'],
  onStep: (step: string) => void,
): Promise<Measured> {
  const stage = await openStage('reader')
  const app = await openApp(scriptedModel([]), stage.url)
  try {
    const { entries, turns } = longLog(events)
    await app.store.create({ id: 'long', agent: 'desk' }, { entries })
    const ours: Record<string, number>[] = []
    const floor: Record<string, number>[] = []
    for (let run = 1; run <= runs; run++) {
      onStep(`a thread of ${grouped(events)} events, run ${run}`)
      const { pages, ...seen } = await openThread(browser, app, `Answer ${turns}.`)
      ours.push(seen)
      floor.push(await readPages(browser, stage.url, pages, events))
    }
    return {
      name: 'opening',
      title: `Opening a thread of ${grouped(events)} events`,
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

/**
 * From an empty page until the last words are shown. Only what is on the screen is in the document.
 */
function openThread(browser: Browser, { url }: App, last: string) {
  return browser.visit(async (page, thread) => {
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.goto(`${url}/#/threads/long`)
    await page.waitForFunction(isShown, last, { polling: 50 })
    const work = await thread.work()
    const pages = requests.filter((address) => address.includes('/events'))
    return { ...work, nodes: await thread.nodes(), requests: requests.length, pages }
  })
}

/** Runs inside the page. */
function isShown(words: string): boolean {
  const conversation = document.querySelector('[role=group][aria-label=Conversation]')
  return conversation?.textContent?.includes(words) ?? false
}

function readPages(browser: Browser, stage: string, pages: readonly string[], events: number) {
  return browser.visit(async (page, thread) => {
    await page.goto(stage)
    const count = await page.evaluate((addresses) => window.read(addresses), pages)
    if (count !== events) throw new Error(`the pages have ${count} entries, expected ${events}`)
    const work = await thread.work()
    return { ...work, nodes: await thread.nodes(), requests: pages.length }
  })
}
