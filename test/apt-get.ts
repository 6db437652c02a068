import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The time limit for each `apt-get` command. */
const installMs = 300_000

/** Whether packages can be installed without asking the user. */
export const mayInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')

/** Installs Debian packages, if permitted. Never rejects: the caller checks the result. */
export async function aptInstall(packages: readonly string[]): Promise<void> {
  if (!mayInstall) return
  const install = ['install', '-y', '--no-install-recommends', ...packages]
  // The package lists may be old or missing, as in a fresh container.
  if (await aptGet(install)) return
  if (await aptGet(['update'])) await aptGet(install)
}

function aptGet(args: readonly string[]): Promise<boolean> {
  // Another process may hold the lock.
  const patient = ['-qq', '-o', 'DPkg::Lock::Timeout=120', ...args]
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return run('apt-get', patient, { env, timeout: installMs, maxBuffer: 1e8 }).then(
    () => true,
    () => false,
  )
}
