import { randomUUID } from 'node:crypto'
import { sleep, systemClock } from 'millrace/internal'
import { type Command, type CommandEnd, type CommandSpec, startCommand } from './command.ts'
import type { OutputText } from './output-store.ts'
import { droppedNote, endNote, seconds, withNotes } from './result-text.ts'

/** Commands that keep running after the call that started them has ended. */
export interface Background {
  start(spec: CommandSpec, about: Started): Promise<string>
  poll(request: PollRequest, signal: AbortSignal): Promise<string>
}

interface Started {
  readonly line: string
  readonly signal: AbortSignal
  /** Ends the command when aborted, even long after the call has ended. */
  readonly runSignal: AbortSignal
  /** What the sandbox denied, reported when the command ends. */
  readonly denialOf: (output: string, end: CommandEnd) => string | undefined
  readonly onStart: (command: Command) => void
  /** It has a network of its own that no other command can reach. */
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
  /** Called when there is new output or the command has ended. */
  readonly waiting: Set<() => void>
  end: CommandEnd | undefined
  /** Why we ended it. */
  why: string | undefined
  /** The end of the output so far: the message of a denial may have been polled before the command ended. */
  lastOutput: string
}

/** How long the first result waits for early output, such as a server's port or a startup error. */
const firstOutputMs = 500
/** Output within this time is reported together. */
const settleMs = 100
/** How much of the output is kept to explain a failure. */
const lastOutputChars = 16_384
/** How many ended commands can still be polled. */
const maxEnded = 16

export function background({
  maxBackground,
  backgroundMs,
}: {
  maxBackground: number
  backgroundMs: number
}): Background {
  const jobs = new Map<string, Job>()
  let starting = 0

  async function start(order: CommandSpec, about: Started): Promise<string> {
    const { signal } = about
    signal.throwIfAborted()
    const running = [...jobs.values()].filter(({ end }) => !end)
    if (running.length + starting >= maxBackground)
      throw new Error(
        `${maxBackground} commands are already running in the background, which is the limit: ${listed(running)}. Stop one first with shell_output and stop: true`,
      )
    starting++
    const job = await startJob(order, about).finally(() => starting--)
    const stop = () => endJob(job, 'the run was canceled')
    signal.addEventListener('abort', stop)
    try {
      if (signal.aborted) stop()
      await waitForOutput(job, firstOutputMs, signal)
      if (signal.aborted) await job.command.ended
      signal.throwIfAborted()
    } finally {
      signal.removeEventListener('abort', stop)
    }
    return report(job, about.isAlone ? aloneNote : undefined)
  }

  async function startJob(spec: CommandSpec, about: Started): Promise<Job> {
    const { runSignal } = about
    const waiting = new Set<() => void>()
    const wake = () => {
      for (const one of waiting) one()
    }
    const command = await startCommand({ ...spec, onOutput: wake })
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
      lastOutput: '',
    }
    jobs.set(id, job)
    const cancel = () => endJob(job, 'the run was canceled')
    runSignal.addEventListener('abort', cancel)
    if (runSignal.aborted) cancel()
    const timer = timeLimit(backgroundMs, () => endJob(job, `the limit is ${seconds(backgroundMs)}`))
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
    for (const { id } of ended.slice(0, -maxEnded)) jobs.delete(id)
  }

  async function poll({ id, waitMs, stop }: PollRequest, signal: AbortSignal): Promise<string> {
    const job = jobs.get(id)
    if (!job) {
      const known = jobs.size > 0 ? `Known: ${listed([...jobs.values()])}` : 'None is known'
      throw new Error(
        `there is no background command ${JSON.stringify(id)}. ${known}. Background commands end when the process that started them ends: start it again if you need it`,
      )
    }
    if (stop) {
      endJob(job, 'you stopped it')
      await job.command.ended
    } else await waitForOutput(job, waitMs, signal)
    return report(job)
  }

  return { start, poll }
}

function endJob(job: Job, why: string) {
  if (job.command.running) job.why ??= why
  void job.command.end()
}

/** Resolves when there is unread output, when the command ends, or after `waitMs`. */
async function waitForOutput({ command, waiting }: Job, waitMs: number, signal: AbortSignal): Promise<void> {
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
  // The command itself has exited; its remaining processes are still being ended.
  if (!command.running) await command.ended
}

const aloneNote =
  '[in the sandbox, other commands cannot reach it over the network: to try a server, start it with & and send requests in the same command]'

function report(job: Job, note?: string): string {
  const { id, command, end, why, startedAt } = job
  const text: OutputText = command.output.take()
  job.lastOutput = (job.lastOutput + text.head + text.tail).slice(-lastOutputChars)
  if (!end) {
    const ranMs = performance.now() - startedAt
    const state = `[running in the background as ${id} for ${seconds(ranMs)}; poll it with shell_output]`
    return withNotes(text, [droppedNote(text), state, note])
  }
  const denial = job.denialOf(job.lastOutput, end)
  const ended = why === undefined ? endNote(end) : `${endNote(end).slice(0, -1)}: ${why}]`
  return withNotes(text, [droppedNote(text), denial, ended, `[${id} is no longer running]`])
}

function listed(jobs: readonly Job[]): string {
  return jobs.map(({ id, line, end }) => `${id} (${end ? 'ended: ' : ''}${line.slice(0, 60)})`).join(', ')
}

/** No limit if it is longer than a timer can wait. Does not keep the process running. */
function timeLimit(ms: number, callback: () => void): NodeJS.Timeout | undefined {
  return ms < 2 ** 31 ? setTimeout(callback, ms).unref() : undefined
}
