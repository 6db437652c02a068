import { machine } from '../report/machine.ts'
import { versionOf } from '../report/versions.ts'
import { runCommand } from '../runner/command.ts'
import type { Browser } from './browser.ts'
import { chromiumPath, openBrowser } from './browser.ts'
import { measureFollowing } from './following.ts'
import { measureOpening } from './opening.ts'
import type { Options } from './options.ts'
import { help, readOptions } from './options.ts'
import { measureSize } from './page-size.ts'
import { printed } from './report.ts'
import type { PageResults, Table } from './results.ts'
import { sizes } from './size.ts'
import { writePage } from './write.ts'
import { measureWriting } from './writing.ts'

const say = (text: string) => process.stderr.write(`${text}\n`)

async function measurePage({ mode, save }: Options, signal: AbortSignal): Promise<number> {
  const executablePath = await chromiumPath()
  const { answer, thread, words } = sizes[mode]

  /** In a browser of its own, which is closed when somebody has had enough. */
  async function within(hurried: boolean, measure: (browser: Browser) => Promise<Table[]>) {
    signal.throwIfAborted()
    const browser = await openBrowser({ executablePath, hurried })
    const stop = () => void browser.close()
    signal.addEventListener('abort', stop)
    try {
      return { version: browser.version, tables: await measure(browser) }
    } finally {
      signal.removeEventListener('abort', stop)
      await browser.close()
    }
  }

  const hurried = await within(true, async (browser) => [await measureWriting(browser, answer, say)])
  const paced = await within(false, async (browser) => [
    await measureOpening(browser, thread, say),
    await measureFollowing(browser, words, say),
  ])
  const marked = versionOf('marked')
  const results: PageResults = {
    version: 1,
    date: new Date().toISOString().slice(0, 10),
    mode,
    node: process.version,
    chromium: paced.version,
    machine: machine(),
    packages: marked === undefined ? {} : { marked },
    tables: [measureSize(), ...hurried.tables, ...paced.tables],
  }
  process.stdout.write(printed(results))
  for (const path of await writePage(results, save)) say(`wrote ${path}`)
  return 0
}

await runCommand({ help, readOptions, act: measurePage })
