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

/** A word and what stands around it has about so many characters. */
const wordChars = 6

/** So much has come before it is looked at: compiling and the first layout are over. */
const beginChars = 1000

type Share = Readonly<Record<'share' | 'script' | 'layout', number>>

/** An answer that is followed while a model writes it, at the pace of a screen. The floor shows the words as plain text. */
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

  /** A thread of which a model speaks until it is stopped. */
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
    title: `An answer of ${perSecond} words a second is followed for ${seconds} s`,
    rows: [
      rowOf('floor', 'floor: as plain text', floor),
      rowOf('ours', 'Millrace', ours),
      rowOf('rest', 'Millrace when nobody speaks', atRest),
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
  if ((await shown()) <= before) throw new Error('nothing was added while it was followed')
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

/** Says these pieces over and over, so many a second, until it is stopped. */
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
        // Against the clock and not after the last one, so that being late does not add up.
        const early = start + (said * 1000) / perSecond - performance.now()
        if (early > 0) await wait(early, undefined, { signal })
        yield { type: 'text', text: pieces[said % pieces.length] ?? '' }
      }
    },
  }
}
