import { answer } from '../harness/answer.ts'
import { type Job, NotOffered, type Outcome, type Work } from './work.ts'

// Does the jobs of one client, one after the other, in a process of its own.

/** The works share packages with clients, which a cold import must not find loaded. */
async function workOf(name: string): Promise<Work | undefined> {
  if (name === 'import') return (await import('./import.ts')).coldImport
  return (await import('./index.ts')).workOf(name)
}

let isFirst = true

const asked = {
  async run(job: Job): Promise<Outcome> {
    const work = await workOf(job.work)
    if (!work) return { type: 'failed', reason: `there is no work ${job.work}` }
    // The most memory that there ever was is not that of a second job.
    const leftOut = isFirst ? '' : 'peak'
    isFirst = false
    try {
      const figures = Object.entries(await work.run(job))
      const right = figures.filter(([key, value]) => Number.isFinite(value) && key !== leftOut)
      return { type: 'done', figures: Object.fromEntries(right) }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return { type: error instanceof NotOffered ? 'left-out' : 'failed', reason: reason || 'it threw' }
    }
  },
}
export type ClientAnswers = typeof asked
answer(asked)
