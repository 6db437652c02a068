import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

/** A process as it was a moment ago. Its pid may be another's by now; pid and start together are not. */
export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly started: string
  readonly name: string
}

/** What runs on this machine. Zombies are left out: they are dead, and only their parent can bury them. */
export interface ProcessTable {
  list(): Promise<ProcessEntry[]>
  /** When the process with this pid was started, now; undefined if there is none, or if it cannot be told. */
  startOf(pid: number): string | undefined
  /** True as long as that pid is still this process. */
  isThere(entry: ProcessEntry): boolean
  /** True if the text stands in the environment that the process was started with. */
  hasInEnvironment(pid: number, text: string): boolean
}

/** Linux. Reading is synchronous: the kernel answers from memory, and a thread pool costs more than it saves. */
const procTable: ProcessTable = {
  async list() {
    const entries: ProcessEntry[] = []
    let read = 0
    for (const name of readdirSync('/proc')) {
      const pid = Number(name)
      if (!Number.isInteger(pid)) continue
      // On a machine with thousands of processes others get their turn in between.
      if (++read % 200 === 0) await new Promise((resolve) => setImmediate(resolve))
      const entry = readStat(pid)
      if (entry) entries.push(entry)
    }
    return entries
  },
  startOf: (pid) => readStat(pid, { dead: true })?.started,
  isThere: ({ pid, started }) => readStat(pid)?.started === started,
  hasInEnvironment(pid, text) {
    try {
      return readFileSync(`/proc/${pid}/environ`).includes(text)
    } catch {
      return false
    }
  },
}

/** proc_pid_stat(5): `pid (name) state ppid pgrp session …`; the name may hold anything, brackets too. */
function readStat(pid: number, { dead = false } = {}): ProcessEntry | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return undefined
  }
  const [open, close] = [stat.indexOf('('), stat.lastIndexOf(')')]
  const fields = stat.slice(close + 2).split(' ')
  const [state, parent, group, session] = fields
  // A process whose first thread has ended looks like a zombie while its other threads go on.
  const threads = Number(fields[17])
  if (!dead && (state === 'X' || (state === 'Z' && threads <= 1))) return undefined
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    started: fields[19] ?? '',
    name: stat.slice(open + 1, close),
  }
}

const run = promisify(execFile)

/** Elsewhere. What a command started in a session of its own, and then left, cannot be told from others here. */
export const psTable: ProcessTable = {
  async list() {
    const { stdout } = await run('ps', ['-axo', 'pid=,ppid=,pgid=,stat=,lstart='], {
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
      maxBuffer: 2 ** 26,
    })
    return stdout.split('\n').flatMap((line) => {
      const [, pid, parent, group, state, started] =
        /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/.exec(line) ?? []
      if (!pid || state?.startsWith('Z')) return []
      const entry = { pid: Number(pid), parent: Number(parent), group: Number(group) }
      return [{ ...entry, session: 0, started: started?.trim() ?? '', name: '' }]
    })
  },
  startOf: () => undefined,
  // It was listed a moment ago; asking again would take as long as that took.
  isThere: () => true,
  hasInEnvironment: () => false,
}

export const processTable: ProcessTable = readStat(process.pid) ? procTable : psTable
