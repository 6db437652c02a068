import type { ApprovalAnswer, ApprovalRequestEvent, Entry } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import type { Change, RunSummary } from '../view/index.ts'
import { foldResult } from '../view/index.ts'
import { formatDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import type { Interruption } from './interrupts.ts'
import { onInterrupt } from './interrupts.ts'
import type { Output } from './output.ts'

export interface FollowAnswerOptions {
  readonly output: Output
  /** Follows the thread after this number. */
  readonly after: number
  /** The number of the input to be answered. If absent, follows until the thread is idle. */
  readonly seq?: number
  readonly timeoutMs?: number | undefined
  /** Aborted with the error if no answer can be expected. */
  readonly failure: AbortSignal
  /** `change` is set if the entry is part of the answer. */
  readonly onEntry: (entry: Entry, change: Change | undefined) => void
  /** Asks the user; resolves to undefined to leave instead. Absent if there is no user to ask. */
  readonly decide?: (
    request: ApprovalRequestEvent,
    signal: AbortSignal,
  ) => Promise<ApprovalAnswer | undefined>
}

export interface FollowedAnswer {
  readonly summary: RunSummary
  /** Why it ended early. */
  readonly interruption?: Interruption
}

/** How long to wait for a stopped run to end. */
const stopTimeoutMs = 5000

/**
 * Follows an answer to its end. On Ctrl-C, at the timeout, or when stdout is closed, the run is
 * stopped and the partial answer is kept. Rejects if `failure` is aborted.
 */
export async function followAnswer(thread: Thread, options: FollowAnswerOptions): Promise<FollowedAnswer> {
  const { output, seq, timeoutMs, failure, onEntry, decide } = options
  const fold = foldResult(seq)
  /** Whether the answer has started. A run before that answers another message. */
  let started = seq === undefined
  const leaving = new AbortController()
  const stopping = new AbortController()
  let interruption: Interruption | undefined
  let stopped: Promise<number | undefined> = Promise.resolve(undefined)
  let late: ReturnType<typeof setTimeout> | undefined

  function end(why: Interruption) {
    if (interruption) return
    interruption = why
    stopping.abort()
    late = setTimeout(() => leaving.abort(), stopTimeoutMs)
    stopped = stopOwn(why.reason).catch(() => {
      leaving.abort()
      return undefined
    })
  }
  /** Does not stop a run that answers another message; the question then stays queued. */
  async function stopOwn(reason: string): Promise<number | undefined> {
    const { queued, run } = await thread.state({ bytes: 0 })
    const others = run !== undefined && run.outcome === undefined && queued.some((one) => one.seq === seq)
    if (started || !others) return thread.stop(reason)
    leaving.abort()
    return undefined
  }
  onInterrupt(end)
  const offClosed = onAbort(output.closed, () => end({ exit: exitCodes.ok, reason: 'the output was closed' }))
  const offFailure = onAbort(failure, () => leaving.abort())
  const timer =
    timeoutMs &&
    setTimeout(
      () => end({ exit: exitCodes.timeout, reason: `timed out after ${formatDuration(timeoutMs)}` }),
      Math.min(timeoutMs, 2 ** 31 - 1),
    )

  let { after } = options
  async function follow(until: number | 'idle') {
    for await (const entry of thread.follow({ after, until, signal: leaving.signal })) {
      after = entry.seq
      const change = fold.applyEntry(entry)
      started ||= change !== undefined
      onEntry(entry, change)
      await output.drained()
    }
  }

  try {
    await follow(seq ?? 'idle')
    while (decide && !interruption && fold.result().outcome === 'suspended') {
      // Results come from a client, not from the user.
      const request = (await thread.state({ bytes: 0 })).approvals.find(({ wants }) => !wants)
      if (!request) break
      const answer = await decide(request, stopping.signal)
      if (answer) after = await thread.approve(request.callId, answer)
      else end({ exit: exitCodes.interrupted, reason: 'interrupted' })
      // Following stops at a suspended run, so it starts after the decision.
      after = (await stopped) ?? after
      await follow('idle')
    }
    failure.throwIfAborted()
    await stopped
    return { summary: fold.result(), ...(interruption && { interruption }) }
  } finally {
    offClosed()
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
