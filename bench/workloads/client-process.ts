import { answer } from '../harness/answer.ts'
import { type Job, NotOffered, type Outcome, type Workload } from './workload.ts'

// Runs the jobs of one client, one after the other, in its own process.

/**
 * Imported on demand: workloads share packages with clients, and a cold import must not find them
 * loaded.
 */
async function workOf(name: string): Promise<Workload | undefined> {
  if (name === 'import') return (await import('./import.ts')).coldImport
  return (await import('./index.ts')).workloadOf(name)
}

let isFirst = true
/** Functions that an earlier process compiled are not those of a fresh one. */
const isCached = process.env.NODE_COMPILE_CACHE !== undefined

const asked = {
  async run(job: Job): Promise<Outcome> {
    const work = await workOf(job.work)
    if (!work) return { type: 'failed', reason: `unknown workload ${job.work}` }
    // A second job is not the first use of the process, and its peak memory says nothing.
    const leftOut = isFirst ? (isCached ? ['fresh'] : []) : ['fresh', 'peak']
    isFirst = false
    try {
      const figures = Object.entries(await work.run(job))
      const right = figures.filter(([key, value]) => Number.isFinite(value) && !leftOut.includes(key))
      return { type: 'done', figures: Object.fromEntries(right) }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return { type: error instanceof NotOffered ? 'left-out' : 'failed', reason: reason || 'it threw' }
    }
  },
}
export type ClientAnswers = typeof asked
answer(asked)
