import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** So long `apt-get` may take with each of its errands. */
const installMs = 300_000

/** Whether packages can be had here without asking anybody. */
export const mayInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')

/** Debian's packages, where that may be. Never rejects: whether it worked is for the caller to see. */
export async function aptInstall(packages: readonly string[]): Promise<void> {
  if (!mayInstall) return
  const install = ['install', '-y', '--no-install-recommends', ...packages]
  // The lists may be old, or not there at all, as in a fresh container.
  if (await aptGet(install)) return
  if (await aptGet(['update'])) await aptGet(install)
}

function aptGet(args: readonly string[]): Promise<boolean> {
  // Somebody else may be at it.
  const patient = ['-qq', '-o', 'DPkg::Lock::Timeout=120', ...args]
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return run('apt-get', patient, { env, timeout: installMs, maxBuffer: 1e8 }).then(
    () => true,
    () => false,
  )
}
