import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startChild } from '../harness/process.ts'
import { cache } from '../harness/write.ts'
import type { ClientAnswers } from './client-process.ts'
import type { Task } from './plan.ts'
import type { Job, Outcome } from './workload.ts'

export interface Measurement {
  readonly task: Task
  readonly outcome: Outcome
}

export interface RunInput {
  /** Each list runs in one process. */
  readonly batches: readonly (readonly Task[])[]
  readonly url: string
  readonly signal: AbortSignal
  /** Nothing new starts after this time. */
  readonly budgetMs: number
  readonly onProgress: (task: Task) => void
}

/**
 * One process at a time, so that measurements do not disturb each other. There was no time for
 * `unmeasured`.
 */
export async function runBatches({ batches, url, signal, budgetMs, onProgress }: RunInput) {
  const start = performance.now()
  const measurements: Measurement[] = []
  const unmeasured: Task[] = []
  const settled = new Map<string, Outcome>()
  for (const batch of batches) {
    const tasks = batch.filter((task) => {
      const known = settled.get(lineOf(task)) ?? beforehand(task)
      // Reported once for each size; a second repetition or a larger size would end the same way.
      if (known && !measurements.some((made) => sameCell(made.task, task)))
        measurements.push({ task, outcome: known })
      return !known
    })
    if (performance.now() - start > budgetMs) {
      unmeasured.push(...tasks)
      continue
    }
    const jobs = new Map(tasks.map((task) => [jobOf(task, url), task] as const))
    for (const task of tasks.slice(0, 1)) onProgress(task)
    await runJobs(
      [...jobs.keys()],
      (job, outcome) => {
        const task = jobs.get(job)
        if (!task) return
        if (outcome.type !== 'done') settled.set(lineOf(task), outcome)
        measurements.push({ task, outcome })
      },
      signal,
    )
  }
  return { measurements, unmeasured }
}

const lineOf = ({ work, client, wire }: Task) => `${work.name} ${client.name} ${wire}`

const sameCell = (a: Task, b: Task) => lineOf(a) === lineOf(b) && a.case.name === b.case.name

function beforehand({ client, work }: Task): Outcome | undefined {
  if (client.problem !== undefined) return { type: 'failed', reason: client.problem }
  const reason = client.without[work.name]
  if (reason !== undefined) return { type: 'left-out', reason }
  return work.needs === 'imports' && client.module === undefined
    ? { type: 'left-out', reason: 'there is nothing to import' }
    : undefined
}

function jobOf({ work, case: one, client, wire, repetition }: Task, url: string): Job {
  const { name, module } = client
  const imported = work.needs === 'imports' && module ? { module, bundle: repetition === 0 } : {}
  return { work: work.name, client: name, wire, url, case: one, ...imported }
}

/** A process has some time to start. */
const startMs = 5_000

/**
 * Runs jobs of one client in a fresh process, and in another after each that was killed. Rejects
 * only on abort.
 */
export async function runJobs(
  jobs: readonly Job[],
  onOutcome: (job: Job, outcome: Outcome) => void,
  signal?: AbortSignal,
): Promise<void> {
  for (let left = jobs; left.length > 0; ) {
    signal?.throwIfAborted()
    left = left.slice(await runInOneProcess(left, onOutcome, signal))
  }
  signal?.throwIfAborted()
}

/** Returns how many jobs were reported when the process exited; at least one. */
async function runInOneProcess(
  jobs: readonly Job[],
  onOutcome: (job: Job, outcome: Outcome) => void,
  signal: AbortSignal | undefined,
): Promise<number> {
  // With many small jobs, starting the process takes most of the time. A cold import must be cold.
  const env = jobs.length > 1 ? { NODE_COMPILE_CACHE: join(cache, 'compiled') } : {}
  const options = { execArgv: ['--expose-gc'], env, quiet: true }
  const child = startChild<ClientAnswers>('workloads/client-process.ts', {}, options)
  const end = () => void child.stop(0)
  signal?.addEventListener('abort', end, { once: true })
  let done = 0
  let isGone = false
  for (const job of jobs) {
    const { limitMs } = job.case
    const limit = new AbortController()
    const outcome = await Promise.race([
      child.ask('run', job).catch(({ message: reason }: Error): Outcome => {
        isGone = true
        return { type: 'failed', reason }
      }),
      wait(limitMs + (done === 0 ? startMs : 0), { type: 'over', limitMs } as const, limit),
    ])
    limit.abort()
    if (signal?.aborted) break
    done++
    onOutcome(job, outcome)
    isGone ||= outcome.type === 'over'
    if (isGone) break
  }
  signal?.removeEventListener('abort', end)
  // A client may hold sockets open; this does not wait for them.
  await child.stop(isGone || signal?.aborted ? 0 : undefined)
  return Math.max(done, 1)
}
