import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import { aptInstall } from '../apt-get.ts'

const run = promisify(execFile)

/** The first needs a third less CPU per page. */
const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]

/** How to get one, for whoever has none. */
export const howToGetIt = 'apt-get install chromium-headless-shell, or CHROMIUM=/path/to/one'

/** The path of a Chromium that runs here; undefined if there is none. Throws if the one that was asked for does not. */
export async function findChromium(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  if (env.CHROMIUM) {
    if (await runs(env.CHROMIUM)) return env.CHROMIUM
    throw new Error(`CHROMIUM is ${env.CHROMIUM}, and no browser runs there`)
  }
  const folders = ['/usr/bin', ...(env.PATH ?? '').split(delimiter)]
  const places = new Set(names.flatMap((name) => folders.map((folder) => join(folder, name))))
  for (const path of [...places, chromium.executablePath()]) if (await runs(path)) return path
  return undefined
}

/** A file alone says little: where Chromium comes as a snap, it is a script that tells how to install that. */
async function runs(path: string): Promise<boolean> {
  if (!existsSync(path)) return false
  return run(path, ['--version'], { timeout: 30_000 }).then(
    ({ stdout }) => /chrom/i.test(stdout),
    () => false,
  )
}

/** Debian's: whether it worked is for `findChromium` to see. */
export function installChromium(): Promise<void> {
  return aptInstall(['chromium-headless-shell'])
}

/** As it is started for a test: by root too, on a machine without a screen, and asking nobody for anything. */
export const launchArgs = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]
