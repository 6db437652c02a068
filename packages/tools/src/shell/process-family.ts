import { setTimeout as pause } from 'node:timers/promises'
import type { Cgroup } from './cgroup.ts'
import { type ProcessEntry, type ProcessTable, processTable } from './process-table.ts'

/** All processes that come from one command, also those that left its group and session or lost their parents. */
export interface ProcessFamily {
  living(): Promise<ProcessEntry[]>
  /**
   * Asks all of them to end, and after `graceMs` makes them. Resolves with how many there were when none is left. Those that would
   * end by themselves within `patienceMs` are not counted. Called again, it is the same ending.
   */
  end(options: { graceMs: number; patienceMs?: number }): Promise<number>
}

/** What cannot be killed (it waits inside the kernel) is given up after so long. */
const giveUpMs = 5_000

/**
 * `leader` leads a group and session of its own; `marker` stands in its environment, and so in that of all it starts. What lost
 * all of these is known by the cgroup, if there is one.
 */
export function processFamily(
  { leader, marker, cgroup }: { leader: number; marker: string; cgroup?: Cgroup | undefined },
  table: ProcessTable = processTable,
): ProcessFamily {
  const leaderStarted = table.startOf(leader)
  const known = new Set<string>()
  let ending: Promise<number> | undefined

  async function living(): Promise<ProcessEntry[]> {
    const entries = await table.list()
    const contained = cgroup?.pids()
    // With all of its group and session gone, the leader's number may come to name something else.
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

  /** Whoever was there before the command is not of it, and most are: their environment need not be read. */
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
        // The sandbox itself would take all inside down with it at once, before they could tidy up.
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

  /** Looks again and again, and does something about those it sees. False if some are there after that time. */
  async function watchUntilGone(
    ms: number,
    act: (entries: readonly ProcessEntry[]) => void,
  ): Promise<boolean> {
    const until = performance.now() + ms
    let [waitMs, seen] = [5, false]
    for (;;) {
      const entries = await living()
      // One that forks and ends, again and again, may slip through a look; hardly through two, and not out of a cgroup.
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
      // It has just ended, or is not ours to end.
    }
  }

  return { living, end: ({ graceMs, patienceMs = 0 }) => (ending ??= end(graceMs, patienceMs)) }
}

function keyOf({ pid, started }: ProcessEntry): string {
  return `${pid} ${started}`
}
