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
import type { Report } from './child.test-kit.ts'

const script = fileURLToPath(new URL('./child.test-kit.ts', import.meta.url))

/** A folder that is removed after the tests of this file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-sqlite-'))
  afterFile(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Another process, with its reports in order. */
export interface Other {
  readonly reports: Report[]
  /** The next report; rejects if the process ends first. */
  next(): Promise<Report>
  send(line: string): void
  signal(name: NodeJS.Signals): void
  /** Resolves when the process is gone. */
  kill(): Promise<void>
  /** Closes stdin and resolves when the process has exited successfully. */
  ended(): Promise<void>
}

/** `before` is a shell script that ends with `exec "$@"`, run in its own namespaces. */
export function other(args: readonly string[], { before }: { before?: string } = {}): Other {
  const command = [process.execPath, script, ...args]
  const [program = '', ...rest] = before ? ['unshare', '-Urm', 'sh', '-c', before, 'sh', ...command] : command
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
  afterFile(() => child.kill('SIGKILL'))
  const reports: Report[] = []
  let taken = 0
  let exited = false
  let wake = () => {}
  const gone = once(child, 'close').then(() => {
    exited = true
    wake()
  })
  createInterface(child.stdout).on('line', (line) => {
    reports.push(JSON.parse(line))
    wake()
  })
  return {
    reports,
    async next() {
      while (taken >= reports.length) {
        if (exited) throw new Error(`the other process ended (${child.exitCode ?? child.signalCode})`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return reports[taken++] as Report
    },
    send: (line) => child.stdin.write(`${line}\n`),
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

/** Whether a process may mount a small disk for itself on this system. */
export const canMount = spawnSync('unshare', ['-Urm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

/** Reads the whole log, and checks that it has every number once. */
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

/** Runs SQLite's integrity check on a file that is not open any more. */
export function expectIntact(path: string): void {
  const database = new DatabaseSync(path)
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  database.close()
}

export async function soon(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2))
}
