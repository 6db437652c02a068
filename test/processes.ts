import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { isWhole } from './size.ts'

interface Ended {
  /** The exit code, or why the process has none. */
  readonly exit: number | string
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  readonly cwd: string
  readonly env?: NodeJS.ProcessEnv
}

/** Turns a hang into a failure before the test's own timeout. */
const patienceMs = isWhole ? 500_000 : 100_000

/** Runs a program to its end with an empty stdin. Never rejects: see `exit`. */
export function run(
  command: string,
  args: readonly string[],
  { cwd, env = process.env }: RunOptions,
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env, timeout: patienceMs, killSignal: 'SIGKILL', maxBuffer: 2 ** 26 } as const
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      resolve({ exit: error ? exitOf(error) : 0, stdout, stderr })
    })
    child.stdin?.end()
  })
}

function exitOf(error: { code?: unknown; killed?: boolean; message: string }): number | string {
  if (error.killed) return `killed after ${patienceMs} ms`
  return typeof error.code === 'number' ? error.code : error.message
}

/** The environment of a plain shell: no API keys, nothing from vitest. */
export function plainEnv(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env
  return { PATH, HOME, TMPDIR }
}

/**
 * Type-checks a folder by its tsconfig.json. Diagnostics are on stdout, one per line, paths
 * relative to the folder.
 */
export function typeCheck(folder: string): Promise<Ended> {
  const tsc = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace(/package\.json$/, 'bin/tsc')
  return run(process.execPath, [tsc, '--project', folder, '--pretty', 'false'], { cwd: folder })
}
