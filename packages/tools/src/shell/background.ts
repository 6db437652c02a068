import { randomUUID } from 'node:crypto'
import { sleep, systemClock } from 'millrace/internal'
import { type Command, type CommandEnd, type CommandOrder, startCommand } from './command.ts'
import type { OutputText } from './output-store.ts'
import { droppedNote, endNote, seconds, withNotes } from './result-text.ts'

/** Commands that go on when the call that started them is over. */
export interface Background {
  start(order: CommandOrder, about: Started): Promise<string>
  poll(request: PollRequest, signal: AbortSignal): Promise<string>
}

interface Started {
  readonly line: string
  readonly signal: AbortSignal
  /** Ends it when it is aborted, however long after the call that is. */
  readonly runSignal: AbortSignal
  /** What the sandbox had against it, told with its end. */
  readonly refusalOf: (output: string, end: CommandEnd) => string | undefined
  readonly onStart: (command: Command) => void
  /** It has a network of its own, with nobody else in it. */
  readonly isAlone: boolean
}

export interface PollRequest {
  readonly id: string
  readonly waitMs: number
  readonly stop: boolean
}

interface Job extends Started {
  readonly id: string
  readonly command: Command
  readonly startedAt: number
  /** Called when there is something new. */
  readonly waiting: Set<() => void>
  end: CommandEnd | undefined
  /** Why it was ended by us. */
  why: string | undefined
}

/** How long the first answer waits for what comes at once: a server that says its port, or that it is taken. */
const earlyMs = 500
/** What is printed together is told together. */
const settleMs = 100
/** Of those that have ended so many can still be asked for. */
const keptEnded = 16

export function background({
  maxBackground,
  backgroundMs,
}: {
  maxBackground: number
  backgroundMs: number
}): Background {
  const jobs = new Map<string, Job>()
  let starting = 0

  async function start(order: CommandOrder, about: Started): Promise<string> {
    const { signal } = about
    signal.throwIfAborted()
    const running = [...jobs.values()].filter(({ end }) => !end)
    if (running.length + starting >= maxBackground)
      throw new Error(
        `there are ${maxBackground} commands in the background already, and no more may be: ${listed(running)}. End one first with shell_output and stop: true`,
      )
    starting++
    const job = await begin(order, about).finally(() => starting--)
    const stop = () => endJob(job, 'the run was cancelled')
    signal.addEventListener('abort', stop)
    try {
      if (signal.aborted) stop()
      await news(job, earlyMs, signal)
      if (signal.aborted) await job.command.ended
      signal.throwIfAborted()
    } finally {
      signal.removeEventListener('abort', stop)
    }
    return report(job, about.isAlone ? aloneNote : undefined)
  }

  async function begin(order: CommandOrder, about: Started): Promise<Job> {
    const { runSignal } = about
    const waiting = new Set<() => void>()
    const wake = () => {
      for (const one of waiting) one()
    }
    const command = await startCommand({ ...order, onOutput: wake })
    command.unref()
    about.onStart(command)
    const id = `bg_${randomUUID().slice(0, 8)}`
    const job: Job = {
      ...about,
      id,
      command,
      waiting,
      startedAt: performance.now(),
      end: undefined,
      why: undefined,
    }
    jobs.set(id, job)
    const cancel = () => endJob(job, 'the run was cancelled')
    runSignal.addEventListener('abort', cancel)
    if (runSignal.aborted) cancel()
    const timer = timeLimit(backgroundMs, () => endJob(job, `it may run for ${seconds(backgroundMs)}`))
    command.ended.then((end) => {
      clearTimeout(timer)
      runSignal.removeEventListener('abort', cancel)
      job.end = end
      forgetOldest()
      wake()
    })
    return job
  }

  function forgetOldest() {
    const ended = [...jobs.values()].filter(({ end }) => end)
    for (const { id } of ended.slice(0, -keptEnded)) jobs.delete(id)
  }

  async function poll({ id, waitMs, stop }: PollRequest, signal: AbortSignal): Promise<string> {
    const job = jobs.get(id)
    if (!job) {
      const known = jobs.size > 0 ? `There are: ${listed([...jobs.values()])}` : 'There is none'
      throw new Error(
        `there is no command ${JSON.stringify(id)} in the background. ${known}. A command ends with the process that started it: start it again if it is needed`,
      )
    }
    if (stop) {
      endJob(job, 'you stopped it')
      await job.command.ended
    } else await news(job, waitMs, signal)
    return report(job)
  }

  return { start, poll }
}

function endJob(job: Job, why: string) {
  if (job.command.running) job.why ??= why
  void job.command.end()
}

/** Resolves when there is output that nobody has taken, or the end, or after that time. */
async function news({ command, waiting }: Job, waitMs: number, signal: AbortSignal): Promise<void> {
  const enough = new AbortController()
  const end = () => enough.abort()
  const wake = () => {
    settle ??= setTimeout(end, Math.min(settleMs, waitMs))
  }
  let settle: NodeJS.Timeout | undefined
  command.ended.then(end)
  waiting.add(wake)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  if (command.output.waiting) wake()
  await sleep(waitMs, { clock: systemClock, signal: enough.signal })
  clearTimeout(settle)
  waiting.delete(wake)
  signal.removeEventListener('abort', end)
  // It has ended, and only what it left behind is still being put away.
  if (!command.running) await command.ended
}

const aloneNote =
  '[in the sandbox no other command reaches it over the network: to try a server, start it with & and ask it within one command]'

function report(job: Job, note?: string): string {
  const { id, command, end, why, startedAt } = job
  const text: OutputText = command.output.take()
  if (!end) {
    const ranMs = performance.now() - startedAt
    const state = `[running in the background as ${id} for ${seconds(ranMs)}; poll it with shell_output]`
    return withNotes(text, [droppedNote(text), state, note])
  }
  const refusal = job.refusalOf(text.head + text.tail, end)
  const ended = why === undefined ? endNote(end) : `${endNote(end).slice(0, -1)}, since ${why}]`
  return withNotes(text, [droppedNote(text), refusal, ended, `[${id} is not running any more]`])
}

function listed(jobs: readonly Job[]): string {
  return jobs.map(({ id, line, end }) => `${id} (${end ? 'ended: ' : ''}${line.slice(0, 60)})`).join(', ')
}

/** No limit if it is more than a timer can wait for; and no reason for this process to stay. */
function timeLimit(ms: number, callback: () => void): NodeJS.Timeout | undefined {
  return ms < 2 ** 31 ? setTimeout(callback, ms).unref() : undefined
}
