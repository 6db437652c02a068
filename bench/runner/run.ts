import type { Outcome } from '../process/outcome.ts'
import type { Job } from '../works/work.ts'
import { runJobs } from './client-process.ts'
import type { Task } from './plan.ts'

export interface Measurement {
  readonly task: Task
  readonly outcome: Outcome
}

export interface RunInput {
  /** What is in one list is done in one process. */
  readonly batches: readonly (readonly Task[])[]
  readonly url: string
  readonly signal: AbortSignal
  /** Nothing new is begun when the runner is as old as this. */
  readonly budgetMs: number
  readonly onProgress: (task: Task) => void
}

export interface RunOutput {
  readonly measurements: readonly Measurement[]
  /** What there was no time for. */
  readonly unmeasured: readonly Task[]
}

/** One process after the other: nothing else of ours runs while something is measured. */
export async function runBatches({
  batches,
  url,
  signal,
  budgetMs,
  onProgress,
}: RunInput): Promise<RunOutput> {
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
    if (performance.now() > budgetMs) {
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
