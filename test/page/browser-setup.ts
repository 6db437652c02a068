import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { findChromium, howToGetIt, installChromium, launchArgs } from './browser.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the browser; empty if there is none. */
    readonly chromium: string
    /** Where the one that is running is reached; empty if there is none. */
    readonly browser: string
  }
}

/** Runs once, before the first test of the page, and only if one is going to run: starts the one browser of all of them. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const executablePath = (await findChromium()) ?? (await installed()) ?? without()
  const browser = executablePath
    ? await chromium.launchServer({ executablePath, args: launchArgs })
    : undefined
  provide('chromium', executablePath)
  provide('browser', browser?.wsEndpoint() ?? '')
  return async () => browser?.close()
}

async function installed(): Promise<string | undefined> {
  say('tests of the page: there is no Chromium, so apt-get is asked for one')
  await installChromium()
  return findChromium()
}

/** On one's own machine the rest is worth running; where it counts, nothing may be left out. */
function without(): string {
  const missing = `there is no Chromium: ${howToGetIt}`
  if (process.env.CI) throw new Error(missing)
  say(`tests of the page are left out, since ${missing}`)
  return ''
}

function say(line: string) {
  process.stderr.write(`${line}\n`)
}
