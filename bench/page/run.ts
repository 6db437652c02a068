import { extname } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { files } from '../../packages/millrace/dist/page/files.js'
import { type Browser, chromiumPath, openBrowser } from './browser.ts'
import { measureFollowing } from './following.ts'
import { measureListing } from './listing.ts'
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
    await measureListing(browser, size.list, onStep),
    await measureFollowing(browser, size.words, onStep),
  ])
  return { chromium: paced.chromium, tables: [measureSize(), ...hurried.tables, ...paced.tables] }
}

/** The limit for the first load, in KB of 1,000 bytes. */
const limitKb = 80

/** The files of the page, as they go over the wire. */
function measureSize(): Measured {
  const sizes = files.map(({ path, gzip }) => ({ path, kb: Buffer.from(gzip, 'base64').length / 1000 }))
  const index = files.find(({ path }) => path === 'index.html')
  const html = gunzipSync(Buffer.from(index?.gzip ?? '', 'base64')).toString()
  const total = (list: typeof sizes) => [{ kb: list.reduce((sum, { kb }) => sum + kb, 0) }]
  const first = sizes.filter(({ path }) => path === 'index.html' || html.includes(path))
  const standalone = sizes.filter(({ path }) => path === 'standalone.html')
  const later = sizes.filter((file) => !first.includes(file) && !standalone.includes(file))
  return {
    name: 'size',
    title: 'Size of the page, gzipped',
    rows: [
      ...first.map(({ path, kb }) => rowOf(path, plainName(path), [{ kb }])),
      rowOf('ours', 'first load', total(first)),
      rowOf('limit', 'its limit', [{ kb: limitKb }]),
      rowOf('later', `on demand, ${later.length} files`, total(later)),
      rowOf('standalone', 'the page of an export', total(standalone)),
    ],
  }
}

/** Without the hash of its content, which changes with every build. */
function plainName(path: string): string {
  const ending = extname(path)
  return path.slice(0, -ending.length).replace(/-[\w-]{8}$/, '') + ending
}
