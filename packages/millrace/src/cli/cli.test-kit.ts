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
/** The command as it is built, which starts in half the time; the set-up of the tests sees to it that it is that of the sources. */
export const main = join(packages, 'millrace/dist/cli/main.js')
/** The path of what is built of an entry point, for files that the command loads. */
export const built = (entry: string, name = 'millrace') => join(packages, name, 'dist', `${entry}.js`)
// Only turns a hang into a failure.
const limit = { timeout: 60_000, killSignal: 'SIGKILL' } as const

interface Ended {
  /** The exit code, or the signal it died of. */
  readonly exit: number | string | null
  readonly stdout: string
  readonly stderr: string
}

/** A home of its own for the commands of one test: a folder, an environment, and a provider if there is one. */
export interface Home {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  write(name: string, text: string): string
  /** Begins a command outside any terminal. */
  start(args: readonly string[], options?: StartOptions): Started
  /** Runs one to its end, with this on its stdin. */
  run(args: readonly string[], options?: { input?: string | Buffer; env?: NodeJS.ProcessEnv }): Promise<Ended>
}

interface StartOptions {
  readonly stdin?: 'ignore' | 'pipe'
  readonly env?: NodeJS.ProcessEnv
  /** No file may become longer: for a disk that is full. */
  readonly longestFileKb?: number
}

export interface Started {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Promise<Ended>
  /** Resolves when this stands on stdout or stderr; rejects if it ends without. */
  see(what: string | RegExp): Promise<void>
}

export function makeHome(env: NodeJS.ProcessEnv = {}): Home {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-cli-'))
  afterFile(() => rmSync(folder, { recursive: true, force: true }))
  // What a stranger's shell has: no keys of ours, and nothing of vitest's.
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

/** A home with a provider that plays a script, as the model of every command. */
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
        void ended.then((end) => reject(new Error(`it ended without ${what}: ${JSON.stringify(end)}`)))
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

// `script` runs a command in a pseudo-terminal. Part of every Linux; those of macOS and BSD take other options.
export const hasTerminals = /util-linux/.test(
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '',
)

/** Begins a command in a pseudo-terminal of its own. What it writes to stdout and stderr comes out as one. */
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

  /** Waits until this is written after all that was seen before. */
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
      void ended.then(() => reject(new Error(`it ended without ${what}:\n${stdout().slice(-2000)}`)))
      look()
    })
  }

  return { see, output: stdout, ended, type: (keys: string) => child.stdin.write(keys) }
}

/** The objects that `--json` has written, one a line. */
export function linesOf(stdout: string): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
