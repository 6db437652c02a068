import type { Answer, ApprovalRequestEvent, Entry } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import type { Change, RunSummary } from '../view/index.ts'
import { foldResult } from '../view/index.ts'
import { inWords } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import type { Ending } from './interrupts.ts'
import { onInterrupt } from './interrupts.ts'
import type { Output } from './output.ts'

export interface ConductOptions {
  readonly output: Output
  /** Begins after this number. */
  readonly after: number
  /** The number of the input that is answered; without it, until there is nothing left to do. */
  readonly seq?: number
  readonly timeoutMs?: number | undefined
  /** Aborted, with what went wrong, when there is no hope of an answer. */
  readonly failure: AbortSignal
  /** `change`: what the entry changed, if it is part of the answer. */
  readonly onEntry: (entry: Entry, change: Change | undefined) => void
  /** Asks a person; undefined if they want to leave instead. Absent if there is nobody to ask. */
  readonly decide?: (request: ApprovalRequestEvent, signal: AbortSignal) => Promise<Answer | undefined>
}

export interface Conducted {
  readonly answered: RunSummary
  /** Why it was ended before its time. */
  readonly ending?: Ending
}

/** So long a stopped run may take to say that it has ended. */
const endingMs = 5000

/**
 * Follows an answer to its end, and ends it before that on Ctrl-C, when its time is up, or when nobody reads it any more: the
 * run is stopped, and what it has told is kept. Rejects with the failure if there is one.
 */
export async function conduct(thread: Thread, options: ConductOptions): Promise<Conducted> {
  const { output, seq, timeoutMs, failure, onEntry, decide } = options
  const fold = foldResult(seq)
  /** Whether anything of the answer has come: what runs before that answers somebody else. */
  let begun = seq === undefined
  const leaving = new AbortController()
  const stopping = new AbortController()
  let ending: Ending | undefined
  let stopped: Promise<number | undefined> = Promise.resolve(undefined)
  let late: ReturnType<typeof setTimeout> | undefined

  function end(why: Ending) {
    if (ending) return
    ending = why
    stopping.abort()
    late = setTimeout(() => leaving.abort(), endingMs)
    stopped = stopOwn(why.reason).catch(() => {
      leaving.abort()
      return undefined
    })
  }
  /** A run that answers somebody else goes on; the question then stays queued. */
  async function stopOwn(reason: string): Promise<number | undefined> {
    const { queued, run } = await thread.state({ bytes: 0 })
    const others = run !== undefined && run.outcome === undefined && queued.some((one) => one.seq === seq)
    if (begun || !others) return thread.stop(reason)
    leaving.abort()
    return undefined
  }
  onInterrupt(end)
  const offGone = onAbort(output.gone, () => end({ exit: exitCodes.ok, reason: 'nobody reads any more' }))
  const offFailure = onAbort(failure, () => leaving.abort())
  const timer =
    timeoutMs &&
    setTimeout(
      () => end({ exit: exitCodes.timeout, reason: `the time of ${inWords(timeoutMs)} was up` }),
      Math.min(timeoutMs, 2 ** 31 - 1),
    )

  let { after } = options
  async function follow(until: number | 'idle') {
    for await (const entry of thread.follow({ after, until, signal: leaving.signal })) {
      after = entry.seq
      const change = fold.take(entry)
      begun ||= change !== undefined
      onEntry(entry, change)
      await output.drained()
    }
  }

  try {
    await follow(seq ?? 'idle')
    while (decide && !ending && fold.result().outcome === 'suspended') {
      const [request] = (await thread.state({ bytes: 0 })).approvals
      if (!request) break
      const answer = await decide(request, stopping.signal)
      if (answer) after = await thread.approve(request.callId, answer)
      else end({ exit: exitCodes.interrupted, reason: 'interrupted' })
      // Following ends where a run waits, so it begins behind what was decided.
      after = (await stopped) ?? after
      await follow('idle')
    }
    failure.throwIfAborted()
    await stopped
    return { answered: fold.result(), ...(ending && { ending }) }
  } finally {
    offGone()
    offFailure()
    clearTimeout(timer)
    clearTimeout(late)
  }
}

function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act)
  return () => signal.removeEventListener('abort', act)
}
