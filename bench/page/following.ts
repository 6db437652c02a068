import { setTimeout as wait } from 'node:timers/promises'
import type { Model } from 'millrace'
import { client } from 'millrace/client'
import type { Page } from 'playwright-core'
import { cut, longAnswer } from './answer.ts'
import { type Browser, type MainThread, since } from './browser.ts'
import { type Measured, rowOf, type Size } from './part.ts'
import type { Reader } from './stage/contract.ts'
import { openApp, openStage } from './stage.ts'

declare const window: Reader & typeof globalThis.window

/** The average length of a word with its markup. */
const wordChars = 6

/**
 * How much text must be shown before measuring, so that compilation and the first layout are done.
 */
const beginChars = 1000

type Share = Readonly<Record<'share' | 'script' | 'layout', number>>

/**
 * Follows an answer at the frame rate of a screen while a model writes it. The floor shows plain
 * text.
 */
export async function measureFollowing(
  browser: Browser,
  { perSecond, seconds, runs }: Size['words'],
  onStep: (step: string) => void,
): Promise<Measured> {
  const count = perSecond * (seconds + 10)
  const words = cut(longAnswer(count * wordChars), count)
  const stage = await openStage('reader')
  const app = await openApp(pacedModel(words, perSecond), stage.url)
  const floor: Share[] = []
  const ours: Share[] = []
  const atRest: Share[] = []

  /** A thread in which the model writes until it is stopped. */
  async function speaking() {
    const thread = await client(app.url).create()
    await thread.send('Go on.')
    return thread
  }

  try {
    for (let run = 1; run <= runs; run++) {
      onStep(`${perSecond} words a second for ${seconds} s, run ${run}`)
      const followed = await speaking()
      await browser.visit(async (page, thread) => {
        await page.goto(`${app.url}/#/threads/${followed.id}`)
        ours.push(await follow(page, thread, seconds))
        await followed.stop()
        await page.getByText('Stopped').first().waitFor()
        atRest.push(await shareOf(thread, seconds))
      })
      const plain = await speaking()
      await browser.visit(async (page, thread) => {
        await page.goto(stage.url)
        const events = `${app.url}/threads/${plain.id}/events`
        await page.evaluate((address) => window.follow(address), events)
        floor.push(await follow(page, thread, seconds))
      })
      await plain.stop()
    }
  } finally {
    await app.close()
    await stage.close()
  }
  return {
    name: 'following',
    title: `Following an answer of ${perSecond} words per second for ${seconds} s`,
    rows: [
      rowOf('floor', 'floor: as plain text', floor),
      rowOf('ours', 'Millrace', ours),
      rowOf('rest', 'Millrace, idle', atRest),
    ],
  }
}

async function follow(page: Page, thread: MainThread, seconds: number): Promise<Share> {
  const shown = () => page.evaluate(() => document.body.textContent?.length ?? 0)
  await page.waitForFunction((chars) => (document.body.textContent?.length ?? 0) > chars, beginChars, {
    polling: 100,
  })
  const before = await shown()
  const share = await shareOf(thread, seconds)
  if ((await shown()) <= before) throw new Error('no text was added while the answer was followed')
  return share
}

/** How much of one core the main thread takes, in percent. */
async function shareOf(thread: MainThread, seconds: number): Promise<Share> {
  const start = performance.now()
  const before = await thread.work()
  await wait(seconds * 1000)
  const { ms, script, layout } = since(before, await thread.work())
  const percent = 100 / (performance.now() - start)
  return { share: ms * percent, script: script * percent, layout: layout * percent }
}

/** Emits these pieces in a loop at a steady pace until it is stopped. */
export function pacedModel(pieces: readonly string[], perSecond: number): Model {
  return {
    id: 'paced',
    provider: 'bench',
    capabilities: {
      tools: false,
      images: false,
      files: false,
      reasoning: false,
      streaming: true,
      structuredOutput: false,
    },
    async *stream(_, { signal }) {
      const start = performance.now()
      for (let said = 0; !signal.aborted; said++) {
        // Relative to the start, so that delays do not add up.
        const early = start + (said * 1000) / perSecond - performance.now()
        if (early > 0) await wait(early, undefined, { signal })
        yield { type: 'text', text: pieces[said % pieces.length] ?? '' }
      }
    },
  }
}
