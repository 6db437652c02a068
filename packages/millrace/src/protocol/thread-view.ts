import type { ErrorJson } from './errors.ts'
import type { ApprovalRequestEvent, InputMode, Outcome } from './events.ts'
import type { JsonObject } from './json.ts'
import type { Message } from './messages.ts'
import type { ThreadState } from './thread-state.ts'
import { approvalsOf, conversationOf, nextThreadAction, usageOf } from './thread-state.ts'
import type { Usage } from './usage.ts'

/** What is known of a thread without reading its log. */
export interface ThreadInfo {
  readonly id: string
  readonly agent: string
  /**
   * The beginning of the first thing that a person said in it, on one line of at most 120 characters; `[image]` or `[file: name]`
   * if that had no words. Absent before.
   */
  readonly title?: string
  /** Whose it is; absent where nobody was asked. */
  readonly user?: string
  readonly metadata?: JsonObject
  readonly forkedFrom?: { readonly id: string; readonly seq: number }
  /** Milliseconds since 1970; `updatedAt` is that of the last entry. */
  readonly createdAt: number
  readonly updatedAt: number
  /** The number of the last entry; 0 if there is none. */
  readonly head: number
  readonly status: ThreadStatus
}

/** `queued`: there is something to do and nobody does it yet. `waiting`: for a person. */
export type ThreadStatus = 'idle' | 'queued' | 'running' | 'waiting'

export interface ThreadPage {
  /** Those changed last come first. */
  readonly threads: readonly ThreadInfo[]
  readonly next?: string
}

/** What a log tells of its thread. */
export interface ThreadSnapshot extends Pick<ThreadInfo, 'head' | 'status'> {
  /** The conversation as far as it has come: also what waits to be answered, and words that are being told. */
  readonly messages: readonly Message[]
  /** There if `messages` is only the end of the conversation: so many come before it. `before` of that number gets the last of those. */
  readonly earlier?: { readonly messages: number }
  /** What waits for a person. */
  readonly approvals: readonly ApprovalRequestEvent[]
  /** Inputs that no run has heard yet. */
  readonly queued: readonly { readonly seq: number; readonly mode: InputMode }[]
  readonly usage: Usage
  /** The current run, or the last. `outcome` is absent while it is under way. */
  readonly run?: {
    readonly id: string
    readonly rounds: number
    readonly outcome?: Outcome
    readonly error?: ErrorJson
  }
}

/** A thread with everything that is known of it. */
export interface ThreadView extends Omit<ThreadInfo, keyof ThreadSnapshot>, ThreadSnapshot {}

const statuses = {
  idle: 'idle',
  wait: 'waiting',
  start: 'queued',
  continue: 'running',
  cancel: 'running',
} as const

export function snapshotOf(
  state: ThreadState,
  messages: readonly Message[] = conversationOf(state),
): ThreadSnapshot {
  const { head, run, error, waiting } = state
  return {
    head,
    status: statuses[nextThreadAction(state).type],
    messages,
    approvals: approvalsOf(state),
    queued: waiting.map(({ seq, mode }) => ({ seq, mode })),
    usage: usageOf(state),
    ...(run && {
      run: {
        id: run.runId,
        rounds: run.round,
        ...(run.outcome && { outcome: run.outcome }),
        ...(error && { error }),
      },
    }),
  }
}
