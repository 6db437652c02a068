import { setTimeout as pause } from 'node:timers/promises'
import type { Cgroup } from './cgroup.ts'
import { type ProcessEntry, type ProcessTable, processTable } from './process-table.ts'

/**
 * All processes started by a command, including those that left its group and session or lost their
 * parent.
 */
export interface ProcessTree {
  living(): Promise<ProcessEntry[]>
  /**
   * Sends SIGTERM, and SIGKILL after `graceMs`. Resolves when all have ended, with how many there were.
   * Those that end on their own within `patienceMs` are not counted. Later calls return the same promise.
   */
  end(options: { graceMs: number; patienceMs?: number }): Promise<number>
}

/** Processes that cannot be killed (stuck in the kernel) are given up after this time. */
const giveUpMs = 5_000

/**
 * `leader` leads its own group and session. `marker` is in its environment and is inherited. A process
 * that shed all of these is found through the cgroup, if there is one.
 */
export function processTree(
  { leader, marker, cgroup }: { leader: number; marker: string; cgroup?: Cgroup | undefined },
  table: ProcessTable = processTable,
): ProcessTree {
  const leaderStarted = table.startOf(leader)
  const known = new Set<string>()
  let ending: Promise<number> | undefined

  async function living(): Promise<ProcessEntry[]> {
    const entries = await table.list()
    const contained = cgroup?.pids()
    // Once its group and session are empty, the leader's pid may be reused.
    const reused = entries.some(({ pid, started }) => pid === leader && isOther(started))
    const found = new Map<number, ProcessEntry>()
    const add = (entry: ProcessEntry) => {
      found.set(entry.pid, entry)
      known.add(keyOf(entry))
    }
    for (const entry of entries) {
      const { pid, group, session } = entry
      const together = !reused && (group === leader || session === leader)
      const isMember = together || contained?.has(pid) || known.has(keyOf(entry))
      if (isMember || (isYounger(entry) && table.hasInEnvironment(pid, marker))) add(entry)
    }
    for (let before = -1; before < found.size; ) {
      before = found.size
      for (const entry of entries) if (!found.has(entry.pid) && found.has(entry.parent)) add(entry)
    }
    return [...found.values()]
  }

  function isOther(started: string): boolean {
    return leaderStarted !== undefined && started !== leaderStarted
  }

  /**
   * Older processes cannot belong to the command: skips reading the environment of most processes.
   */
  function isYounger({ started }: ProcessEntry): boolean {
    return leaderStarted === undefined || Number(started) >= Number(leaderStarted)
  }

  async function end(graceMs: number, patienceMs: number): Promise<number> {
    if (patienceMs > 0 && (await watchUntilGone(patienceMs, () => {}))) return 0
    const asked = new Set<string>()
    const askToEnd = (entries: readonly ProcessEntry[]) => {
      for (const entry of entries) {
        if (asked.has(keyOf(entry))) continue
        asked.add(keyOf(entry))
        // Ending bwrap would kill everything inside at once, without time to clean up.
        if (entry.name !== 'bwrap') send(entry, 'SIGTERM')
      }
    }
    if (await watchUntilGone(graceMs, askToEnd)) return asked.size
    await watchUntilGone(giveUpMs, (entries) => {
      cgroup?.kill()
      for (const entry of entries) {
        asked.add(keyOf(entry))
        send(entry, 'SIGKILL')
      }
    })
    return asked.size
  }

  /**
   * Polls and calls `act` with the processes found. Resolves to false if some are left after `ms`.
   */
  async function watchUntilGone(
    ms: number,
    act: (entries: readonly ProcessEntry[]) => void,
  ): Promise<boolean> {
    const until = performance.now() + ms
    let [waitMs, seen] = [5, false]
    for (;;) {
      const entries = await living()
      // A process that keeps forking and exiting may escape one listing, hardly two, and never a
      // cgroup.
      const isGone = entries.length === 0 && !cgroup?.pids().size
      if (isGone && (!seen || (await living()).length === 0)) return true
      seen = true
      act(entries)
      const leftMs = until - performance.now()
      if (leftMs <= 0) return false
      await pause(Math.min(waitMs, leftMs))
      waitMs = Math.min(waitMs * 2, 100)
    }
  }

  function send(entry: ProcessEntry, signal: NodeJS.Signals) {
    if (!table.isThere(entry)) return
    try {
      process.kill(entry.pid, signal)
    } catch {
      // It has just ended, or belongs to another user.
    }
  }

  return { living, end: ({ graceMs, patienceMs = 0 }) => (ending ??= end(graceMs, patienceMs)) }
}

function keyOf({ pid, started }: ProcessEntry): string {
  return `${pid} ${started}`
}
