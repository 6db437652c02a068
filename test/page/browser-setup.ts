import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { findChromium, installChromium, installHint, launchArgs } from './browser.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of Chromium; empty if it is not installed. */
    readonly chromium: string
    /** The WebSocket endpoint of the running browser; empty if there is none. */
    readonly browser: string
  }
}

/** Runs once before the page tests, if any are selected, and starts the browser that they share. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const executablePath = (await findChromium()) ?? (await install()) ?? skipPageTests()
  const browser = executablePath
    ? await chromium.launchServer({ executablePath, args: launchArgs })
    : undefined
  provide('chromium', executablePath)
  provide('browser', browser?.wsEndpoint() ?? '')
  return async () => browser?.close()
}

async function install(): Promise<string | undefined> {
  say('page tests: Chromium is not installed, installing it with apt-get')
  await installChromium()
  return findChromium()
}

/** Page tests are skipped on a developer machine without Chromium. In CI this is an error. */
function skipPageTests(): string {
  const missing = `Chromium is not installed: ${installHint}`
  if (process.env.CI) throw new Error(missing)
  say(`page tests are skipped: ${missing}`)
  return ''
}

function say(line: string) {
  process.stderr.write(`${line}\n`)
}
