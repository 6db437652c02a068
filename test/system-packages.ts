import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { aptInstall, mayInstall } from './apt-get.ts'

/** Programs that tools, voices and queues use if installed, and their Debian packages. */
const programs = new Map([
  ['bwrap', 'bubblewrap'],
  ['busybox', 'busybox'],
  ['espeak-ng', 'espeak-ng'],
  ['pgbouncer', 'pgbouncer'],
  ['redis-server', 'redis-server'],
  ['rg', 'ripgrep'],
])

/** Runs once, before the first test. Installs missing programs. */
export async function setup(): Promise<void> {
  const before = missing()
  if (before.length === 0 || process.platform !== 'linux') return
  if (mayInstall)
    say(`installing ${before.join(' and ')} with apt-get for tests of the shell, search, voice and queues`)
  await aptInstall(before)
  const still = missing()
  if (still.length === 0) return
  const hint = `${still.join(' and ')} cannot be installed here: apt-get install ${still.join(' ')}`
  // On a developer's machine the other tests still run; in CI nothing may be skipped.
  if (process.env.CI) throw new Error(hint)
  say(`tests that need it are skipped: ${hint}`)
}

function missing(): string[] {
  const folders = ['/usr/bin', '/usr/sbin', ...(process.env.PATH ?? '').split(delimiter)]
  const isThere = (program: string) => folders.some((folder) => existsSync(join(folder, program)))
  return [...programs].filter(([program]) => !isThere(program)).map(([, name]) => name)
}

function say(line: string) {
  process.stderr.write(`${line}\n`)
}
