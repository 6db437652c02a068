import type { Job, Work } from '../works/work.ts'
import type { Outcome } from './outcome.ts'
import { NotOffered } from './outcome.ts'

// Jobs, given as JSON; the outcome of each is a line on stdout. What packages print goes to stderr instead.
const tell = process.stdout.write.bind(process.stdout)
process.stdout.write = process.stderr.write.bind(process.stderr)

/** The works share packages with clients, which a cold import must not find loaded. */
async function workOf(name: string): Promise<Work | undefined> {
  if (name === 'import') return (await import('../works/import.ts')).coldImport
  return (await import('../works/index.ts')).workOf(name)
}

async function outcomeOf(job: Job): Promise<Outcome> {
  const work = await workOf(job.work)
  if (!work) return { type: 'failed', reason: `there is no work ${job.work}` }
  try {
    const figures = Object.entries(await work.run(job)).filter(([, value]) => Number.isFinite(value))
    return { type: 'done', figures: Object.fromEntries(figures) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { type: error instanceof NotOffered ? 'left-out' : 'failed', reason: reason || 'it threw' }
  }
}

const jobs: Job[] = JSON.parse(process.argv[2] ?? '[]')
for (const [index, job] of jobs.entries()) {
  const outcome = await outcomeOf(job)
  // The most memory that there ever was is not that of a second job.
  if (outcome.type === 'done' && index > 0) delete outcome.figures.peak
  await new Promise((resolve) => tell(`${JSON.stringify(outcome)}\n`, resolve))
}
// A client may hold sockets open; nobody waits for those.
process.exit(0)
