import type {
  ApprovalRequestEvent,
  ErrorJson,
  InputMode,
  JsonObject,
  Message,
  Outcome,
  Usage,
} from '../protocol/index.ts'

// What the server says of threads. The same shapes as in threads/, which a browser has no use for; a test holds them together.

/** `queued`: there is something to do and nobody does it yet. `waiting`: for a person. */
export type ThreadStatus = 'idle' | 'queued' | 'running' | 'waiting'

export interface ThreadInfo {
  readonly id: string
  readonly agent: string
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

export interface ThreadView extends ThreadInfo {
  /** The whole conversation, as far as it has come: also what waits to be answered, and words that are being told. */
  readonly messages: readonly Message[]
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

export interface ThreadPage {
  /** Those changed last come first. */
  readonly threads: readonly ThreadInfo[]
  /** The `cursor` of the next page; absent on the last. */
  readonly next?: string
}
