import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { aptInstall, mayInstall } from './apt-get.ts'

/** Programs that tools and voices use where they are installed, and Debian's packages of them. */
const programs = new Map([
  ['bwrap', 'bubblewrap'],
  ['busybox', 'busybox'],
  ['espeak-ng', 'espeak-ng'],
  ['rg', 'ripgrep'],
])

/** Runs once, before the first test of the library. Looks, and gets what is not there. */
export async function setup(): Promise<void> {
  const before = missing()
  if (before.length === 0 || process.platform !== 'linux') return
  if (mayInstall)
    say(`tests of the shell, of searching and of a voice: apt-get is asked for ${before.join(' and ')}`)
  await aptInstall(before)
  const still = missing()
  if (still.length === 0) return
  const hint = `${still.join(' and ')} cannot be had here: apt-get install ${still.join(' ')}`
  // On one's own machine the rest is worth running; where it counts, nothing may be left out.
  if (process.env.CI) throw new Error(hint)
  say(`tests that need it are left out, since ${hint}`)
}

function missing(): string[] {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)]
  const isThere = (program: string) => folders.some((folder) => existsSync(join(folder, program)))
  return [...programs].filter(([program]) => !isThere(program)).map(([, name]) => name)
}

function say(line: string) {
  process.stderr.write(`${line}\n`)
}
