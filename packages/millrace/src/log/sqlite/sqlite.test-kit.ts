import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { afterFile } from '../../../../../test/clean-up.ts'
import type { Entry } from '../../protocol/index.ts'
import type { ThreadStore } from '../store.ts'
import type { Said } from './child.test-kit.ts'

const script = fileURLToPath(new URL('./child.test-kit.ts', import.meta.url))

/** A folder that is gone after the tests of this file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-sqlite-'))
  afterFile(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Another process: what it says, one line after the other, and a hand on it. */
export interface Other {
  readonly said: Said[]
  /** The next thing it says; rejects if it ends before. */
  next(): Promise<Said>
  tell(line: string): void
  signal(name: NodeJS.Signals): void
  /** Resolves when it is gone. */
  kill(): Promise<void>
  /** Resolves when it has ended by itself, with success. */
  ended(): Promise<void>
}

/** `before` is a shell script that ends with `exec "$@"`, for a process in a world of its own. */
export function other(args: readonly string[], { before }: { before?: string } = {}): Other {
  const command = [process.execPath, script, ...args]
  const [program = '', ...rest] = before ? ['unshare', '-Urm', 'sh', '-c', before, 'sh', ...command] : command
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
  afterFile(() => child.kill('SIGKILL'))
  const said: Said[] = []
  let taken = 0
  let exited = false
  let wake = () => {}
  const gone = once(child, 'close').then(() => {
    exited = true
    wake()
  })
  createInterface(child.stdout).on('line', (line) => {
    said.push(JSON.parse(line))
    wake()
  })
  return {
    said,
    async next() {
      while (taken >= said.length) {
        if (exited) throw new Error(`the other process ended (${child.exitCode ?? child.signalCode})`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return said[taken++] as Said
    },
    tell: (line) => child.stdin.write(`${line}\n`),
    signal: (name) => child.kill(name),
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
    async ended() {
      child.stdin.end()
      await gone
      expect(child.exitCode).toBe(0)
    },
  }
}

/** Whether this system lets a process mount a small disk for itself alone. */
export const canMount = spawnSync('unshare', ['-Urm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

/** The whole log, which must have every number once. */
export async function wholeLog(store: ThreadStore, id: string): Promise<Entry[]> {
  const log: Entry[] = []
  for (;;) {
    const after = log.at(-1)?.seq ?? 0
    const page = await store.read(id, { after, limit: 1000, split: true })
    if (page.length === 0) return log
    log.push(...page)
    expect(log.length).toBe(log.at(-1)?.seq)
  }
}

/** What SQLite itself says of a file that nobody has open any more. */
export function expectIntact(path: string): void {
  const database = new DatabaseSync(path)
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  database.close()
}

export async function soon(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2))
}
