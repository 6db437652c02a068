import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import type { ProviderSimulatorOptions, SimulatedRequest } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import { afterFile } from '../../../../test/clean-up.ts'
import type { ScriptRound } from '../testing/index.ts'

const packages = fileURLToPath(new URL('../../..', import.meta.url))
/** The built command, which starts in half the time. The test setup builds it from the sources. */
export const main = join(packages, 'millrace/dist/cli/main.js')
/** The path of a built entry point, for files that the command loads. */
export const built = (entry: string, name = 'millrace') => join(packages, name, 'dist', `${entry}.js`)
// Only to turn a hang into a failure.
const limit = { timeout: 60_000, killSignal: 'SIGKILL' } as const

interface Ended {
  /** The exit code, or the signal that ended it. */
  readonly exit: number | string | null
  readonly stdout: string
  readonly stderr: string
}

/** A separate home folder and environment for the commands of one test. */
export interface Home {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  write(name: string, text: string): string
  /** Starts a command without a terminal. */
  start(args: readonly string[], options?: StartOptions): Started
  /** Runs a command to its end, with `input` as its stdin. */
  run(args: readonly string[], options?: { input?: string | Buffer; env?: NodeJS.ProcessEnv }): Promise<Ended>
}

interface StartOptions {
  readonly stdin?: 'ignore' | 'pipe'
  readonly env?: NodeJS.ProcessEnv
  /** The maximum file size, to simulate a full disk. */
  readonly longestFileKb?: number
}

export interface Started {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Promise<Ended>
  /** Resolves when this appears on stdout or stderr. Rejects if the process ends without it. */
  see(what: string | RegExp): Promise<void>
}

export function makeHome(env: NodeJS.ProcessEnv = {}): Home {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-cli-'))
  afterFile(() => rmSync(folder, { recursive: true, force: true }))
  // A clean environment, without API keys and vitest's variables.
  const { PATH, TMPDIR } = process.env
  const plain = { PATH, TMPDIR, HOME: folder, ...env }

  function start(
    args: readonly string[],
    { stdin = 'ignore', env = {}, longestFileKb }: StartOptions = {},
  ): Started {
    const limited = ['-c', `ulimit -f ${Number(longestFileKb) * 2}; exec "$0" "$@"`, process.execPath]
    const [command, ...before] = longestFileKb === undefined ? [process.execPath] : ['sh', ...limited]
    const child = spawn(command as string, [...before, main, ...args], {
      cwd: folder,
      env: { ...plain, ...env },
      stdio: [stdin, 'pipe', 'pipe'],
      ...limit,
    })
    return watchProcess(child)
  }

  return {
    folder,
    env: plain,
    write(name, text) {
      const path = join(folder, name)
      writeFileSync(path, text)
      return path
    },
    start,
    run(args, { input, env = {} } = {}) {
      const { child, ended } = start(args, { stdin: input === undefined ? 'ignore' : 'pipe', env })
      child.stdin?.end(input)
      return ended
    },
  }
}

/** A home whose model is a scripted provider. */
export async function homeWith(
  script: readonly ScriptRound[] | ((request: SimulatedRequest, index: number) => ScriptRound),
  options: ProviderSimulatorOptions = {},
) {
  const simulator = await providerSimulator(script, options)
  afterFile(() => simulator.close())
  const home = makeHome({
    OPENAI_BASE_URL: simulator.baseURL,
    OPENAI_API_KEY: 'test-key',
    MILLRACE_MODEL: 'openai-chat/test-model',
  })
  return { ...home, simulator }
}

function watchProcess(child: ChildProcess): Started {
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (code, signal) =>
      resolve({ exit: signal ?? code, stdout: stdout(), stderr: stderr() }),
    ),
  )
  return {
    child,
    stdout,
    stderr,
    ended,
    see: (what) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const text = stdout() + stderr()
          if (typeof what === 'string' ? text.includes(what) : what.test(text)) resolve()
        }
        child.stdout?.on('data', look)
        child.stderr?.on('data', look)
        void ended.then((end) =>
          reject(new Error(`the process ended without ${what}: ${JSON.stringify(end)}`)),
        )
        look()
      }),
  }
}

function collect(stream: ChildProcess['stdout']): () => string {
  let text = ''
  stream?.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  return () => text
}

// `script` runs a command in a pseudo-terminal. It is part of every Linux; macOS and BSD have another one.
export const hasTerminals = /util-linux/.test(
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '',
)

/** Starts a command in a pseudo-terminal. Its stdout and stderr are one stream. */
export function openTerminal(
  { folder, env }: Home,
  args: readonly string[],
  {
    columns = 100,
    env: more = {},
    shell = '',
  }: { columns?: number; env?: NodeJS.ProcessEnv; shell?: string } = {},
) {
  const words = [process.execPath, main, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`)
  const command = `stty cols ${columns} rows 40; ${shell ? '' : 'exec '}${words.join(' ')} ${shell}`
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: folder,
    env: { ...env, TERM: 'xterm-256color', ...more },
    ...limit,
  })
  const { stdout, ended } = watchProcess(child)
  let seen = 0

  /** Waits until this appears after everything that was seen before. */
  function see(what: string | RegExp): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const text = stripVTControlCharacters(stdout()).slice(seen)
        const at = typeof what === 'string' ? text.indexOf(what) : text.search(what)
        if (at === -1) return
        seen += at + (typeof what === 'string' ? what : (text.match(what)?.[0] ?? '')).length
        child.stdout.off('data', look)
        resolve()
      }
      child.stdout.on('data', look)
      void ended.then(() => reject(new Error(`the process ended without ${what}:\n${stdout().slice(-2000)}`)))
      look()
    })
  }

  return {
    see,
    output: stdout,
    ended,
    type: (keys: string) => child.stdin.write(keys),
    /** Closes the terminal, not the command in it. */
    close: () => child.kill('SIGKILL'),
  }
}

/** The objects printed by `--json`, one per line. */
export function linesOf(stdout: string): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
