import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Outcome } from '../process/outcome.ts'
import type { Job } from '../works/work.ts'
import { cache } from './import-module.ts'

/** Only what a process needs, so that no setting of the user's shell (a proxy, a key, tracing) has a part in it. */
function environment(jobs: readonly Job[]) {
  const { PATH, HOME, SystemRoot } = process.env
  // Where many small jobs are done, starting a process takes most of the time. A cold import has to be cold.
  const saved = jobs.length > 1 ? { NODE_COMPILE_CACHE: join(cache, 'compiled') } : {}
  return { PATH, HOME, SystemRoot, NODE_ENV: 'production', ...saved }
}

/** Does jobs of one client in a fresh process, or in another one after each that had to be ended. Rejects only on abort. */
export async function runJobs(
  jobs: readonly Job[],
  tell: (job: Job, outcome: Outcome) => void,
  signal?: AbortSignal,
): Promise<void> {
  let left = jobs
  while (left.length > 0) {
    signal?.throwIfAborted()
    left = left.slice(await oneProcess(left, tell, signal))
  }
  signal?.throwIfAborted()
}

/** How many jobs have been told of when the process is gone; at least one. */
async function oneProcess(
  jobs: readonly Job[],
  tell: (job: Job, outcome: Outcome) => void,
  signal: AbortSignal | undefined,
): Promise<number> {
  const main = join(import.meta.dirname, '../process/main.ts')
  const child = spawn(process.execPath, ['--expose-gc', main, JSON.stringify(jobs)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(jobs),
  })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const end = () => void child.kill('SIGKILL')
  signal?.addEventListener('abort', end, { once: true })
  const complaints = lastLines(child)
  let done = 0
  let over = false
  let timer = limit()

  /** Each job has its own time, and the first some more for the start of the process. */
  function limit() {
    const limitMs = (jobs[done]?.case.limitMs ?? 10_000) + (done === 0 ? 5_000 : 0)
    return setTimeout(() => {
      over = true
      end()
    }, limitMs)
  }
  createInterface(child.stdout).on('line', (line) => {
    const job = jobs[done]
    const outcome = outcomeIn(line)
    if (!job || !outcome) return
    clearTimeout(timer)
    done++
    tell(job, outcome)
    timer = limit()
  })
  await closed
  clearTimeout(timer)
  signal?.removeEventListener('abort', end)
  const unfinished = jobs[done]
  if (unfinished && !signal?.aborted) {
    done++
    const reason = lastWords(complaints) || 'the process died'
    tell(unfinished, over ? { type: 'over', limitMs: unfinished.case.limitMs } : { type: 'failed', reason })
  }
  return Math.max(done, 1)
}

function outcomeIn(line: string): Outcome | undefined {
  try {
    const outcome: Outcome = JSON.parse(line)
    return outcome
  } catch {
    return undefined
  }
}

function lastLines({ stderr }: ChildProcess): string[] {
  const lines: string[] = []
  if (stderr)
    createInterface(stderr).on('line', (line) => {
      lines.push(line)
      if (lines.length > 50) lines.shift()
    })
  return lines
}

/** The line that names the error, if Node printed one. */
const lastWords = (lines: readonly string[]) =>
  (lines.findLast((line) => /\w*Error\b.*:/.test(line)) ?? lines.at(-1) ?? '').trim()
