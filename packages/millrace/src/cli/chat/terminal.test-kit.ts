import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundled } from '../../../../../test/bundle.ts'
import { afterFile } from '../../../../../test/clean-up.ts'
import { terminalOf } from '../terminal/screen.test-kit.ts'
import type { ProcessOptions } from './chat-process.test-kit.ts'

const program = fileURLToPath(new URL('./chat-process.test-kit.ts', import.meta.url))

// `script` runs a command in a pseudo-terminal. It is part of every Linux; macOS and BSD have another one.
const hasScript = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '')
export const skipTerminal = !hasScript && !process.env.CI

export interface TerminalOptions extends ProcessOptions {
  readonly columns?: number
  readonly rows?: number
  readonly env?: NodeJS.ProcessEnv
  /** Runs it as a job of a shell, which resumes it with `fg` when it is suspended. */
  readonly underShell?: boolean
  /** Typed before the chat reads keys. */
  readonly typeAhead?: string
}

export type Terminal = ReturnType<typeof open>

/** Starts a chat in a pseudo-terminal, and waits until it is ready. */
export async function openChat({ typeAhead, ...options }: TerminalOptions = {}): Promise<Terminal> {
  const terminal = open(await bundled(program), options)
  if (typeAhead) terminal.type(typeAhead)
  await terminal.see(/\/help[\s\S]*\n[›>]/)
  return terminal
}

function open(
  program: string,
  { columns = 80, rows = 24, env = {}, underShell, ...options }: Omit<TerminalOptions, 'typeAhead'>,
) {
  const { PATH, TMPDIR } = process.env
  const folder = mkdtempSync(join(tmpdir(), 'millrace-terminal-'))
  const place = join(folder, 'place')
  const run = '"$NODE" "$PROGRAM" "$OPTIONS"'
  const command = [
    `stty cols ${columns} rows ${rows}`,
    '(tty; echo $$) > "$PLACE"',
    underShell ? `set -m; ${run}; echo; echo the shell has it; fg` : `exec ${run}`,
  ].join('; ')
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    env: {
      ...{ PATH, TMPDIR, TERM: 'xterm-256color', HOME: '/nowhere' },
      ...{ NODE: process.execPath, PROGRAM: program, OPTIONS: JSON.stringify(options), PLACE: place },
      ...env,
    },
    // Only to turn a hang into a failure.
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const screen = terminalOf({ columns, rows })
  let output = ''
  const watchers = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
    screen.write(chunk)
    for (const look of watchers) look()
  })
  const exit = new Promise<number | string | null>((resolve) =>
    child.on('close', (code, signal) => resolve(signal ?? code)),
  )
  afterFile(() => child.kill())
  void exit.then(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  let known: string[] = []
  const placed = () => {
    if (known.length === 0) known = readFileSync(place, 'utf8').trim().split('\n')
    return { tty: known[0] ?? '', pid: Number(known[1]) }
  }

  const text = () => screen.lines().join('\n')

  /** Resolves as soon as the condition holds for the screen. */
  function until(condition: (text: string) => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!condition(text())) return
        watchers.delete(look)
        clearTimeout(late)
        resolve()
      }
      const fail = (why: string) => reject(new Error(`${why} ${what}. The screen:\n${text()}`))
      const late = setTimeout(() => fail('it never showed'), 60_000)
      watchers.add(look)
      void exit.then(() => {
        look()
        clearTimeout(late)
        fail('it ended without')
      })
      look()
    })
  }

  return {
    lines: () => screen.lines(),
    text,
    output: () => output,
    modes: screen.modes,
    exit,
    until,
    see: (what: string | RegExp) =>
      until((shown) => (typeof what === 'string' ? shown.includes(what) : what.test(shown)), String(what)),
    gone: (what: string) => until((shown) => !shown.includes(what), `the end of ${what}`),
    type: (keys: string) => child.stdin.write(keys),
    signal: (name: NodeJS.Signals) => process.kill(placed().pid, name),
    resize: (columns: number) => spawnSync('stty', ['-F', placed().tty, 'cols', String(columns)]),
    closeWindow() {
      placed()
      child.kill('SIGKILL')
    },
    isRunning() {
      try {
        return process.kill(placed().pid, 0)
      } catch {
        return false
      }
    },
  }
}
