import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import { aptInstall } from '../apt-get.ts'

const run = promisify(execFile)

/** The headless shell needs a third less CPU per page. */
const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]

export const installHint =
  'run apt-get install chromium-headless-shell, or set CHROMIUM to the path of a browser'

/** The path of a working Chromium, if any. Throws if `CHROMIUM` is set and does not run. */
export async function findChromium(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  if (env.CHROMIUM) {
    if (await isChromium(env.CHROMIUM)) return env.CHROMIUM
    throw new Error(`CHROMIUM is ${env.CHROMIUM}, which is not a Chromium that runs`)
  }
  const folders = ['/usr/bin', ...(env.PATH ?? '').split(delimiter)]
  const places = new Set(names.flatMap((name) => folders.map((folder) => join(folder, name))))
  for (const path of [...places, chromium.executablePath()]) if (await isChromium(path)) return path
  return undefined
}

/** Runs it, since the file may be a script that only says how to install the snap. */
async function isChromium(path: string): Promise<boolean> {
  if (!existsSync(path)) return false
  return run(path, ['--version'], { timeout: 30_000 }).then(
    ({ stdout }) => /chrom/i.test(stdout),
    () => false,
  )
}

/** Installs the Debian package. `findChromium` finds out whether that worked. */
export function installChromium(): Promise<void> {
  return aptInstall(['chromium-headless-shell'])
}

/** For tests: works as root and without a screen, and makes no requests of its own. */
export const launchArgs = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]
