import { extname } from 'node:path'
import { files } from '../../packages/millrace/dist/page/files.js'
import { type Browser, chromiumPath, openBrowser } from './browser.ts'
import { measureFollowing } from './following.ts'
import { measureOpening } from './opening.ts'
import { type Measured, rowOf, type Size } from './part.ts'
import { measureWriting } from './writing.ts'

export async function measurePage(size: Size, signal: AbortSignal, onStep: (step: string) => void) {
  const executablePath = await chromiumPath()

  /** In its own browser, which is closed on an interrupt. */
  async function within(hurried: boolean, measure: (browser: Browser) => Promise<Measured[]>) {
    signal.throwIfAborted()
    const browser = await openBrowser({ executablePath, hurried })
    const stop = () => void browser.close()
    signal.addEventListener('abort', stop)
    try {
      return { chromium: browser.version, tables: await measure(browser) }
    } finally {
      signal.removeEventListener('abort', stop)
      await browser.close()
    }
  }

  const hurried = await within(true, async (browser) => [await measureWriting(browser, size.answer, onStep)])
  const paced = await within(false, async (browser) => [
    await measureOpening(browser, size.thread, onStep),
    await measureFollowing(browser, size.words, onStep),
  ])
  return { chromium: paced.chromium, tables: [measureSize(), ...hurried.tables, ...paced.tables] }
}

/** The limit for what is sent, in KB of 1,000 bytes. */
const limitKb = 60

/** The files of the page, as they go over the wire. */
function measureSize(): Measured {
  const sizes = files.map(({ path, gzip }) => ({ path, kb: Buffer.from(gzip, 'base64').length / 1000 }))
  const sum = sizes.reduce((total, { kb }) => total + kb, 0)
  return {
    name: 'size',
    title: 'Size of the page, gzipped',
    rows: [
      ...sizes.map(({ path, kb }) => rowOf(path, plainName(path), [{ kb }])),
      rowOf('ours', 'total', [{ kb: sum }]),
      rowOf('limit', 'the limit', [{ kb: limitKb }]),
    ],
  }
}

/** Without the hash of its content, which changes with every build. */
function plainName(path: string): string {
  const ending = extname(path)
  return path.slice(0, -ending.length).replace(/-[\w-]{8}$/, '') + ending
}
