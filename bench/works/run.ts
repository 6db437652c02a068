import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startChild } from '../harness/process.ts'
import { cache } from '../harness/write.ts'
import type { ClientAnswers } from './client-process.ts'
import type { Task } from './plan.ts'
import type { Job, Outcome } from './work.ts'

export interface Measurement {
  readonly task: Task
  readonly outcome: Outcome
}

export interface RunInput {
  /** What is in one list is done in one process. */
  readonly batches: readonly (readonly Task[])[]
  readonly url: string
  readonly signal: AbortSignal
  /** Nothing new is begun after this time. */
  readonly budgetMs: number
  readonly onProgress: (task: Task) => void
}

/** One process after the other: nothing else of ours runs while something is measured. `unmeasured` had no time. */
export async function runBatches({ batches, url, signal, budgetMs, onProgress }: RunInput) {
  const start = performance.now()
  const measurements: Measurement[] = []
  const unmeasured: Task[] = []
  const settled = new Map<string, Outcome>()
  for (const batch of batches) {
    const tasks = batch.filter((task) => {
      const known = settled.get(lineOf(task)) ?? beforehand(task)
      // Told once for each size; a second repetition, or a larger size, would end the same way.
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

/** Does jobs of one client in a fresh process, or in another one after each that had to be ended. Rejects only on abort. */
export async function runJobs(
  jobs: readonly Job[],
  tell: (job: Job, outcome: Outcome) => void,
  signal?: AbortSignal,
): Promise<void> {
  for (let left = jobs; left.length > 0; ) {
    signal?.throwIfAborted()
    left = left.slice(await runInOneProcess(left, tell, signal))
  }
  signal?.throwIfAborted()
}

/** How many jobs have been told of when the process is gone; at least one. */
async function runInOneProcess(
  jobs: readonly Job[],
  tell: (job: Job, outcome: Outcome) => void,
  signal: AbortSignal | undefined,
): Promise<number> {
  // Where many small jobs are done, starting a process takes most of the time. A cold import has to be cold.
  const env = jobs.length > 1 ? { NODE_COMPILE_CACHE: join(cache, 'compiled') } : {}
  const options = { execArgv: ['--expose-gc'], env, quiet: true }
  const child = startChild<ClientAnswers>('works/client-process.ts', {}, options)
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
    tell(job, outcome)
    isGone ||= outcome.type === 'over'
    if (isGone) break
  }
  signal?.removeEventListener('abort', end)
  // A client may hold sockets open; nothing waits for those.
  await child.stop(isGone || signal?.aborted ? 0 : undefined)
  return Math.max(done, 1)
}
