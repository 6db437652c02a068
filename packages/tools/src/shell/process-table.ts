import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

/**
 * A process at the time of listing. Its pid may be reused; pid and start time together are unique.
 */
export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly started: string
  readonly name: string
}

/**
 * The processes of this machine, without zombies: those have ended and only their parent can reap
 * them.
 */
export interface ProcessTable {
  list(): Promise<ProcessEntry[]>
  /**
   * The start time of the process with this pid; undefined if it does not exist or is not known.
   */
  startOf(pid: number): string | undefined
  /** Whether the pid still belongs to this process. */
  isThere(entry: ProcessEntry): boolean
  /** Whether the environment that the process was started with contains the text. */
  hasInEnvironment(pid: number, text: string): boolean
}

/**
 * Linux. Reads are synchronous: /proc is in memory, so a thread pool would cost more than it saves.
 */
const procTable: ProcessTable = {
  async list() {
    const entries: ProcessEntry[] = []
    let read = 0
    for (const name of readdirSync('/proc')) {
      const pid = Number(name)
      if (!Number.isInteger(pid)) continue
      // With thousands of processes, yield to the event loop now and then.
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

/**
 * proc_pid_stat(5): `pid (name) state ppid pgrp session …`; the name may contain anything, even
 * parentheses.
 */
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
  // A process whose main thread has exited looks like a zombie while other threads still run.
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

/** Other systems. Orphans that moved to their own session cannot be identified here. */
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
  // It was listed a moment ago; another `ps` would take just as long.
  isThere: () => true,
  hasInEnvironment: () => false,
}

export const processTable: ProcessTable = readStat(process.pid) ? procTable : psTable
