import type { Page } from 'playwright-core'
import { grouped, versionOf } from '../harness/report.ts'
import { cut, lastWords, longAnswer } from './answer.ts'
import { type Browser, type MainThread, since } from './browser.ts'
import { type Measured, type Row, rowOf, type Size } from './part.ts'
import type { Player } from './stage/contract.ts'
import { openStage } from './stage.ts'

declare const window: Player & typeof globalThis.window

interface Way {
  readonly name: string
  readonly title: string
  /** A file of `stage/`. */
  readonly script: string
  /** A package that it needs. */
  readonly needs?: string
  /** It takes minutes, so it runs once. */
  readonly isSlow?: boolean
}

const ways: readonly Way[] = [
  { name: 'floor', title: 'floor: plain text, line by line', script: 'plain' },
  { name: 'ours', title: 'Millrace', script: 'ours' },
  { name: 'one-node', title: 'plain text in one text node', script: 'one-node' },
  {
    name: 'usual',
    title: 'the usual way: everything parsed and drawn again',
    script: 'usual',
    needs: 'marked',
    isSlow: true,
  },
]

type Answer = Size['answer']

/** Shows a long answer while it is written. */
export async function measureWriting(
  browser: Browser,
  answer: Answer,
  onStep: (step: string) => void,
): Promise<Measured> {
  const rows: Row[] = []
  for (const way of ways) rows.push(await measureWay(browser, answer, way, onStep))
  const { kb, pieces, perFrame } = answer
  return {
    name: 'writing',
    title: `An answer of ${kb} KB in ${grouped(pieces)} pieces, a frame for every ${perFrame}`,
    rows,
  }
}

async function measureWay(
  browser: Browser,
  answer: Answer,
  { name, title, script, needs, isSlow = false }: Way,
  onStep: (step: string) => void,
): Promise<Row> {
  if (needs !== undefined && versionOf(needs) === undefined)
    return { name, title, figures: {}, leftOut: `${needs} is not installed: npm install --prefix bench` }
  const stage = await openStage(script)
  try {
    const runs: Record<string, number>[] = []
    for (let run = 1; run <= (isSlow ? 1 : answer.runs); run++) {
      onStep(`${title}, run ${run}`)
      runs.push(
        await browser.visit(async (page, thread) => {
          await page.goto(stage.url)
          return write(page, thread, answer)
        }),
      )
    }
    return rowOf(name, title, runs)
  } finally {
    await stage.close()
  }
}

async function write(page: Page, thread: MainThread, { kb, pieces, perFrame }: Answer) {
  const text = longAnswer(kb * 1024)
  await page.evaluate((all) => window.load(all), cut(text, pieces))
  const marks = [await thread.work()]
  for (let quarter = 0; quarter < 4; quarter++) {
    const range = { from: (quarter * pieces) / 4, to: ((quarter + 1) * pieces) / 4, perFrame }
    await page.evaluate((part) => window.play(part), range)
    marks.push(await thread.work())
  }
  const shown = await page.evaluate(() => document.querySelector('main')?.textContent ?? '')
  if (!isWhole(shown, text)) throw new Error('the page does not show the answer')

  const [start, first, , third, end] = marks
  if (!start || !first || !third || !end) throw new Error('expected four quarters')
  const whole = since(start, end)
  return {
    perKb: whole.ms / kb,
    script: whole.script / kb,
    layout: whole.layout / kb,
    growth: since(third, end).ms / since(start, first).ms,
    nodes: await thread.nodes(),
  }
}

/** Whether all words are shown. Ignores Markdown syntax and link targets. */
function isWhole(shown: string, text: string): boolean {
  const [seen, wanted] = [letters(shown), letters(text)]
  return shown.includes(lastWords) && Math.abs(seen - wanted) < wanted / 50
}

const letters = (text: string) => text.replaceAll(/https:[^)\s]*|[^a-zéï]/g, '').length
