import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { isMillraceError } from '../../protocol/index.ts'
import { storeClosed } from '../store-errors.ts'
import { failure, isBusy, isDamage, moved } from './failure.ts'

/** The one line of all reading and writing of a file. */
export interface Commits {
  /**
   * Runs a job in a transaction, after those that were handed in before it, and resolves when it is on the disk. All that is asked
   * for in one turn of the event loop shares a commit. A job must refuse with a `MillraceError` before it has written anything;
   * it may be run again, from a clean state, if the file was locked.
   */
  write<Value>(op: string, job: () => Value): Promise<Value>
  /**
   * The same for a slice of work that can wait: it gets a commit of its own when nothing else is to be written, or after a while. Between
   * two slices, of the same work or not, others have the file and the event loop for a while, here and in other processes.
   */
  writeLater<Value>(op: string, job: () => Value): Promise<Value>
  /** Runs at once, outside of a transaction: one statement is one snapshot. */
  read<Value>(op: string, job: () => Value): Promise<Value>
  /** Resolves when everything that was asked for has been done. Nothing is accepted after it. */
  close(): Promise<void>
}

interface Job {
  readonly op: string
  readonly since: number
  readonly run: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** A commit is kept short, since nothing else happens meanwhile, here or in other processes. */
const mostJobs = 64
const mostMs = 4
/** How long slices in the background wait for others, and how long they rest in proportion to what the last one took. */
const mostWaitMs = 100
const restShare = 4

export function commits(
  database: DatabaseSync,
  { path, busyMs }: { readonly path: string; readonly busyMs: number },
): Commits {
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const files = [path, `${path}-wal`, `${path}-shm`].map((file) => ({ file, identity: identityOf(file) }))
  const queue: Job[] = []
  const background: Job[] = []
  /** When the last slice of those was written, and how long it took. */
  let slicedAt = 0
  let sliceMs = 0
  /** One slice after the other, with a rest in between. */
  let slicing: Promise<unknown> | undefined
  let pumping: Promise<void> | undefined
  let closed = false
  /** So many of the next jobs get a commit each: one of them has failed, and its failure is not that of the others. */
  let apart = 0
  /** Once damage was seen nothing more is written, lest it grow. */
  let damage: unknown

  async function pump() {
    for (let tries = 0; queue.length + background.length > 0; ) {
      // Its own turn of the event loop: what else was asked for in this one comes along, and sockets and timers have theirs.
      await new Promise((resolve) => setImmediate(resolve))
      const line = nextLine()
      const group = line.slice(0, apart > 0 || line === background ? 1 : mostJobs)
      const since = performance.now()
      const outcomes = commitTogether(group)
      if (line === background) sliceMs = performance.now() - since
      if ('locked' in outcomes) {
        giveUp(outcomes.locked)
        await delay(pauseMs(tries++))
        continue
      }
      tries = 0
      if ('failed' in outcomes && group.length > 1) {
        apart = group.length
        continue
      }
      if (line === queue) apart = Math.max(0, apart - 1)
      const done = 'failed' in outcomes ? [{ error: outcomes.failed }] : outcomes.done
      settle(line.splice(0, done.length), done)
    }
    pumping = undefined
  }

  function nextLine(): Job[] {
    const [slice] = background
    const isDue = slice && performance.now() - Math.max(slice.since, slicedAt) > mostWaitMs
    if (!slice || (queue.length > 0 && !isDue)) return queue
    slicedAt = performance.now()
    return background
  }

  /** Commits as many of a group as there is time for. */
  function commitTogether(
    group: readonly Job[],
  ): { readonly done: readonly Outcome[] } | { readonly locked: unknown } | { readonly failed: unknown } {
    if (damage) return { failed: damage }
    try {
      const before = lostFile()
      if (before) throw moved(path, before)
      begin.run()
      const done = runInTime(group)
      commit.run()
      const after = lostFile()
      return { done: after ? done.map(() => ({ error: moved(path, after) })) : done }
    } catch (error) {
      rollBack()
      if (isDamage(error)) damage = error
      return isBusy(error) ? { locked: error } : { failed: error }
    }
  }

  /** A file that was deleted takes writes like any other, and they are gone with the process. */
  function lostFile(): string | undefined {
    return files.find(({ file, identity }) => identityOf(file) !== identity)?.file
  }

  function rollBack() {
    try {
      database.exec('ROLLBACK')
    } catch {
      // SQLite has done it by itself, as it does when the disk is full, or there was nothing to roll back.
    }
  }

  function settle(group: readonly Job[], outcomes: readonly Outcome[]) {
    for (const [index, { op, resolve, reject }] of group.entries()) {
      const outcome = outcomes[index] as Outcome
      if ('error' in outcome) reject(failure(outcome.error, { op, path }))
      else resolve(outcome.value as never)
    }
  }

  /** Those that have waited too long for the lock. They are the first of their line. */
  function giveUp(locked: unknown) {
    const now = performance.now()
    for (const line of [queue, background]) {
      const young = line.findIndex(({ since }) => now - since < busyMs)
      const old = line.splice(0, young < 0 ? line.length : young)
      settle(
        old,
        old.map(() => ({ error: locked })),
      )
    }
  }

  function add<Value>(line: Job[], op: string, run: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (closed) throw storeClosed(op)
      line.push({ op, since: performance.now(), run, resolve, reject })
      pumping ??= pump()
    })
  }

  return {
    write: (op, run) => add(queue, op, run),
    writeLater(op, run) {
      const written = slicing ? slicing.then(() => add(background, op, run)) : add(background, op, run)
      const rest = async () => {
        await delay(restShare * sliceMs)
        if (slicing === rested) slicing = undefined
      }
      const rested: Promise<void> = written.then(rest, rest)
      slicing = rested
      return written
    },
    async read(op, run) {
      if (closed) throw storeClosed(op)
      const since = performance.now()
      for (let tries = 0; ; tries++) {
        try {
          return run()
        } catch (error) {
          if (isDamage(error)) damage = error
          if (!isBusy(error) || performance.now() - since >= busyMs) throw failure(error, { op, path })
        }
        await delay(pauseMs(tries))
        if (closed) throw storeClosed(op)
      }
    },
    async close() {
      closed = true
      await pumping
    },
  }
}

/** Which file a path leads to; undefined if to none. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/** At least the first. */
function runInTime(group: readonly Job[]): Outcome[] {
  const end = performance.now() + mostMs
  const done: Outcome[] = []
  for (const { run } of group) {
    if (done.length > 0 && performance.now() > end) break
    done.push(outcomeOf(run))
  }
  return done
}

function outcomeOf(run: () => unknown): Outcome {
  try {
    return { value: run() }
  } catch (error) {
    if (isMillraceError(error)) return { error }
    throw error
  }
}

/** Longer from time to time, and never the same for two that wait for the same lock. */
function pauseMs(tries: number): number {
  return Math.random() * Math.min(2 + tries, 40)
}
