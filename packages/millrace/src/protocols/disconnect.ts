import type { Clock, MillraceError } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import type { Answer } from './answers.ts'
import { stopAnswer } from './answers.ts'
import type { StreamSlot } from './protocol.ts'

/**
 * For protocols in which a client stops an answer by closing its connection. A connection may also
 * be cut, so the answer is only stopped if no client reads it for a while.
 */
export interface Disconnects {
  /**
   * Counts a reader of an answer, and cancels a stop that is due. Call the returned function when
   * the reader has left, with whether its connection was closed before the end. Calling it twice is
   * fine.
   */
  join(answer: Answer): (left: { readonly isCut: boolean }) => void
  /** Counts a reader until its response ends. `isDone` says whether it has received all of it. */
  joinSlot(slot: Pick<StreamSlot, 'signal'>, answer: Answer, isDone: () => boolean): void
  /** Whether the last reader of a thread, or of any thread, was cut off and may come back. */
  isDue(threadId?: string): boolean
  /** The reader has come back: nothing is stopped. */
  keep(threadId: string): void
  /** Stops now what would be stopped soon. Resolves when that is done. */
  stopNow(threadId: string): Promise<void>
  /** Cancels all stops: the server is closing, and clients can reconnect to another one. */
  close(): void
}

export interface DisconnectsOptions {
  /** How long a client may take to come back. If undefined, answers are never stopped. */
  readonly graceMs: number | undefined
  /** Called with the error of a stop that failed. */
  readonly onError: (thrown: unknown) => void
  readonly clock?: Clock
}

export function disconnects({ graceMs, onError, clock = systemClock }: DisconnectsOptions): Disconnects {
  const readers = new Map<string, number>()
  const due = new Map<string, { readonly answer: Answer; readonly cancel: () => void }>()
  let isClosed = false

  /** Returns the stop that was due. */
  function cancel(threadId: string) {
    const found = due.get(threadId)
    found?.cancel()
    due.delete(threadId)
    return found
  }

  async function stopNow(threadId: string) {
    const { answer } = cancel(threadId) ?? {}
    if (answer) await stopAnswer(answer, 'the client disconnected').catch(onError)
  }

  function leave(answer: Answer, isCut: boolean) {
    const { id } = answer.thread
    const left = (readers.get(id) ?? 1) - 1
    if (left > 0) return void readers.set(id, left)
    readers.delete(id)
    if (!isCut || graceMs === undefined || isClosed) return
    due.set(id, { answer, cancel: clock.after(graceMs, () => void stopNow(id)) })
  }

  function join(answer: Answer) {
    const { id } = answer.thread
    cancel(id)
    readers.set(id, (readers.get(id) ?? 0) + 1)
    let hasLeft = false
    return ({ isCut }: { readonly isCut: boolean }) => {
      if (!hasLeft) leave(answer, isCut)
      hasLeft = true
    }
  }

  return {
    join,
    joinSlot({ signal }, answer, isDone) {
      const leave = join(answer)
      signal.addEventListener('abort', () => {
        // Also aborted after the end, and by the server if it closes or access was revoked.
        const { code } = signal.reason as MillraceError
        leave({ isCut: !isDone() && code === 'invalid_input' })
      })
    },
    isDue: (threadId) => (threadId === undefined ? due.size > 0 : due.has(threadId)),
    keep: (threadId) => void cancel(threadId),
    stopNow,
    close() {
      isClosed = true
      for (const threadId of [...due.keys()]) cancel(threadId)
    },
  }
}
