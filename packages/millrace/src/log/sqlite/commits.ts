import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { isMillraceError } from '../../protocol/index.ts'
import { storeClosed } from '../store-errors.ts'
import { failure, fileMoved, isBusy, isCorruption } from './failure.ts'

/** What all connections of a store know of its file. */
export interface Health {
  /** Set once damage was seen. Nothing is written after that, so that it does not spread. */
  damage?: unknown
}

export interface FileOptions {
  readonly path: string
  readonly busyMs: number
  readonly health: Health
  /** The files when the store was opened. */
  readonly files: FileIdentities
}

/** Identifies each file of a database, by its path. */
export type FileIdentities = ReadonlyMap<string, string | undefined>

/** The queue for all writes of a file. */
export interface Commits {
  /**
   * Runs a job in a transaction, after all earlier jobs, and resolves when it is on disk. All jobs
   * added in one turn of the event loop share a commit. A job that fails with a `MillraceError`
   * must do so before it has written anything. A job may run again, from a clean state, if the file
   * was locked.
   */
  write<Value>(op: string, job: () => Value): Promise<Value>
  /**
   * Runs a slice of work that can wait. It gets its own commit when nothing else is to be written,
   * or after a while. Between two slices, even of different work, the file and the event loop are
   * left to others for a while, in this process and in others.
   */
  writeLater<Value>(op: string, job: () => Value): Promise<Value>
  /** Resolves when all jobs are done. No more are accepted. */
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

/** Limits for one commit, which blocks everything else, in this process and in others. */
const maxJobs = 64
const maxCommitMs = 4
/**
 * How long background slices wait for other jobs, and how long they rest, as a multiple of the time
 * the last slice took.
 */
const maxWaitMs = 100
const restFactor = 4

export function commits(database: DatabaseSync, { path, busyMs, health, files }: FileOptions): Commits {
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const queue: Job[] = []
  const background: Job[] = []
  /** When the last background slice was written, and how long it took. */
  let slicedAt = 0
  let sliceMs = 0
  /** The slice being written, and the rest after it. */
  let slicing: Promise<unknown> | undefined
  let pumping: Promise<void> | undefined
  let closed = false
  /**
   * How many of the next jobs get a commit each: one of them has failed, and must not fail the
   * others.
   */
  let separateJobs = 0

  async function pump() {
    for (let tries = 0; queue.length + background.length > 0; ) {
      // Waits for the next turn of the event loop: other jobs added in this one join the commit,
      // and sockets and timers get their turn.
      await new Promise((resolve) => setImmediate(resolve))
      const jobs = nextQueue()
      const group = jobs.slice(0, separateJobs > 0 || jobs === background ? 1 : maxJobs)
      const since = performance.now()
      const outcomes = commitTogether(group)
      if (jobs === background) sliceMs = performance.now() - since
      if ('locked' in outcomes) {
        rejectOverdue(outcomes.locked)
        await delay(pauseMs(tries++))
        continue
      }
      tries = 0
      if ('failed' in outcomes && group.length > 1) {
        separateJobs = group.length
        continue
      }
      if (jobs === queue) separateJobs = Math.max(0, separateJobs - 1)
      const done = 'failed' in outcomes ? [{ error: outcomes.failed }] : outcomes.done
      settle(jobs.splice(0, done.length), done)
    }
    pumping = undefined
  }

  function nextQueue(): Job[] {
    const [slice] = background
    const isDue = slice && performance.now() - Math.max(slice.since, slicedAt) > maxWaitMs
    if (!slice || (queue.length > 0 && !isDue)) return queue
    slicedAt = performance.now()
    return background
  }

  /** Commits as many jobs of a group as there is time for. */
  function commitTogether(
    group: readonly Job[],
  ): { readonly done: readonly Outcome[] } | { readonly locked: unknown } | { readonly failed: unknown } {
    if (health.damage) return { failed: health.damage }
    try {
      const before = missingFile(files)
      if (before) throw fileMoved(path, before)
      begin.run()
      const done = runWithinLimit(group)
      commit.run()
      const after = missingFile(files)
      return { done: after ? done.map(() => ({ error: fileMoved(path, after) })) : done }
    } catch (error) {
      rollBack()
      if (isCorruption(error)) health.damage = error
      return isBusy(error) ? { locked: error } : { failed: error }
    }
  }

  function rollBack() {
    try {
      database.exec('ROLLBACK')
    } catch {
      // SQLite has already rolled back, as it does when the disk is full, or there was nothing to
      // roll back.
    }
  }

  function settle(group: readonly Job[], outcomes: readonly Outcome[]) {
    for (const [index, { op, resolve, reject }] of group.entries()) {
      const outcome = outcomes[index] as Outcome
      if ('error' in outcome) reject(failure(outcome.error, { op, path }))
      else resolve(outcome.value as never)
    }
  }

  /** Rejects jobs that have waited too long for the lock. They are at the front of their queue. */
  function rejectOverdue(locked: unknown) {
    const now = performance.now()
    for (const jobs of [queue, background]) {
      const firstYoung = jobs.findIndex(({ since }) => now - since < busyMs)
      const old = jobs.splice(0, firstYoung < 0 ? jobs.length : firstYoung)
      settle(
        old,
        old.map(() => ({ error: locked })),
      )
    }
  }

  function add<Value>(jobs: Job[], op: string, run: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (closed) throw storeClosed(op)
      jobs.push({ op, since: performance.now(), run, resolve, reject })
      pumping ??= pump()
    })
  }

  return {
    write: (op, run) => add(queue, op, run),
    writeLater(op, run) {
      const written = slicing ? slicing.then(() => add(background, op, run)) : add(background, op, run)
      const rest = async () => {
        await delay(restFactor * sliceMs)
        if (slicing === rested) slicing = undefined
      }
      const rested: Promise<void> = written.then(rest, rest)
      slicing = rested
      return written
    },
    async close() {
      closed = true
      await pumping
    },
  }
}

/** The reads of a connection. */
export interface Reads {
  /** Runs right away, outside a transaction: each statement reads one consistent state. */
  read<Value>(op: string, job: () => Value): Promise<Value>
  close(): void
}

export function reads({ path, busyMs, health }: Omit<FileOptions, 'files'>): Reads {
  let closed = false
  return {
    async read(op, run) {
      if (closed) throw storeClosed(op)
      const since = performance.now()
      for (let tries = 0; ; tries++) {
        try {
          return run()
        } catch (error) {
          if (isCorruption(error)) health.damage = error
          if (!isBusy(error) || performance.now() - since >= busyMs) throw failure(error, { op, path })
        }
        await delay(pauseMs(tries))
        if (closed) throw storeClosed(op)
      }
    },
    close() {
      closed = true
    },
  }
}

export function identitiesOf(path: string): FileIdentities {
  return new Map([path, `${path}-wal`, `${path}-shm`].map((file) => [file, identityOf(file)]))
}

/**
 * The first file that was moved or deleted. A deleted file still accepts writes, which are lost when
 * the process ends.
 */
export function missingFile(files: FileIdentities): string | undefined {
  for (const [file, identity] of files) if (identityOf(file) !== identity) return file
  return undefined
}

/** Identifies the file at a path; undefined if there is none. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/** Runs jobs until the time is up, but at least the first. */
function runWithinLimit(group: readonly Job[]): Outcome[] {
  const end = performance.now() + maxCommitMs
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

/**
 * Grows with each try. Random, so that two processes waiting for the same lock do not stay in step.
 */
function pauseMs(tries: number): number {
  return Math.random() * Math.min(2 + tries, 40)
}
