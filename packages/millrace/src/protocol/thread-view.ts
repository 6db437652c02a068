import type { ContextUse, ReachedLimit } from './cost.ts'
import type { ErrorJson } from './errors.ts'
import type { ApprovalRequestEvent, InputMode, Outcome } from './events.ts'
import type { JsonObject } from './json.ts'
import type { Message } from './messages.ts'
import type { TotalCost } from './spend.ts'
import { totalCost } from './spend.ts'
import type { ThreadState } from './thread-state.ts'
import {
  approvalsOf,
  conversationOf,
  nextThreadAction,
  queuedInputs,
  spentIn,
  usageOf,
} from './thread-state.ts'
import type { Usage } from './usage.ts'

/** What is known about a thread without reading its log. */
export interface ThreadInfo {
  readonly id: string
  readonly agent: string
  /**
   * The start of the first user message, on one line of at most 120 characters; `[image]` or
   * `[file: name]` if it has no text. Absent before the first message.
   */
  readonly title?: string
  /** The owner; absent if callers are not identified. */
  readonly user?: string
  /** As it is now: users, programs and tools may change it. */
  readonly metadata?: JsonObject
  readonly forkedFrom?: { readonly id: string; readonly seq: number }
  /** Milliseconds since the Unix epoch; `updatedAt` is the time of the last entry. */
  readonly createdAt: number
  readonly updatedAt: number
  /** The number of the last entry; 0 if there is none. */
  readonly head: number
  readonly status: ThreadStatus
  /** How its last run ended, if it rests. */
  readonly outcome?: Outcome
  /** The error code of its last run, if that failed. */
  readonly error?: string
  /** What it has cost in US dollars, as far as prices are known. Absent until its first run ends. */
  readonly knownUsd?: number
  /**
   * In a search: the part of a message or an answer that contains the first word, and the number of
   * its entry. Absent if the title or another field contains it.
   */
  readonly match?: { readonly seq: number; readonly text: string }
}

/** `queued`: there is work, but no worker has started it. `waiting`: for a person. */
export type ThreadStatus = 'idle' | 'queued' | 'running' | 'waiting'

export interface ThreadPage {
  /** Most recently changed first. */
  readonly threads: readonly ThreadInfo[]
  readonly next?: string
}

/** The state of a thread, folded from its log. */
export interface ThreadSnapshot extends Pick<ThreadInfo, 'head' | 'status' | 'metadata'> {
  /** The conversation so far, including queued inputs and text that is still being generated. */
  readonly messages: readonly Message[]
  /**
   * Present if `messages` is only the end of the conversation: how many come before it. Pass it as
   * `before` to get them.
   */
  readonly earlier?: { readonly messages: number }
  /** What waits for a person, or for a result from a client (`wants`). */
  readonly approvals: readonly ApprovalRequestEvent[]
  /** Inputs that no run has read yet. */
  readonly queued: readonly { readonly seq: number; readonly mode: InputMode }[]
  readonly usage: Usage
  /** With sub-agents, summaries and failed requests. */
  readonly cost: TotalCost
  /** How full the model's context was after the last round. */
  readonly context?: ContextUse
  /** The current or last run. `outcome` is absent while it is running. */
  readonly run?: {
    readonly id: string
    readonly rounds: number
    readonly outcome?: Outcome
    readonly error?: ErrorJson
    /** The limit that ended it, with the outcome `budget`. */
    readonly limit?: ReachedLimit
  }
}

/** Everything known about a thread. */
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
  const { head, run, error, metadata } = state
  return {
    head,
    status: statuses[nextThreadAction(state).type],
    ...(metadata && { metadata: metadata.current }),
    messages,
    approvals: approvalsOf(state),
    queued: queuedInputs(state).map(({ seq, mode }) => ({ seq, mode })),
    usage: usageOf(state),
    cost: totalCost(spentIn(state)),
    ...(run?.context && { context: run.context }),
    ...(run?.runId && {
      run: {
        id: run.runId,
        rounds: run.round,
        ...(run.outcome && { outcome: run.outcome }),
        ...(error && { error }),
        ...(run.limit && { limit: run.limit }),
      },
    }),
  }
}
