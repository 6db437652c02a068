import type { MillraceError, SendOptions } from 'millrace/client'
import type {
  ApprovalView,
  CallState,
  CallView,
  ErrorJson,
  NoticeView,
  Outcome,
  ToolResultEvent,
  Usage,
  UserMessage,
} from 'millrace/view'

// What `useThread()` returns is never changed in place: whatever changes is a new object, and whatever
// did not is the same object as before, so that `memo()` and the React Compiler skip it.

export type ThreadMessage = SentMessage | Answer

interface MessageBase {
  /** Use it as the `key`. It does not change when a sent message reaches the log. */
  readonly key: string
  /** Present if something at this place was edited or answered again. */
  readonly versions?: MessageVersions
}

/** A user's message. */
export interface SentMessage extends MessageBase {
  readonly role: 'user'
  /** Its number in the log. Absent until it is there. */
  readonly seq?: number
  readonly text: string
  readonly content: UserMessage['content']
  readonly mode: NonNullable<SendOptions['mode']>
  /**
   * - `sending`: it is on its way; it is sent again after a lost connection
   * - `failed`: it could not be sent, and `error` says why. Pass it to `retry()` or `discard()`
   * - `queued`: no run has read it yet; `held`: nor will one start for it, because of a stop
   * - `read`: a run has read it
   */
  readonly status: 'sending' | 'failed' | 'queued' | 'held' | 'read'
  readonly error?: MillraceError
}

/** What the agent generated between two messages of users. */
export interface Answer extends MessageBase {
  readonly role: 'assistant'
  /** The number of its run's first entry. */
  readonly seq: number
  readonly agent: string
  readonly parts: readonly AnswerPart[]
  /** `waiting`: for a person, or for the result of a tool that a client runs. */
  readonly status: 'running' | 'waiting' | Exclude<Outcome, 'suspended'>
  /** Why the run failed. */
  readonly error?: ErrorJson
  /** What the run used so far. */
  readonly usage?: Usage
}

export type AnswerPart = AnswerText | AnswerCall | AnswerNotice

export interface AnswerText {
  readonly kind: 'text' | 'reasoning'
  readonly key: string
  readonly text: string
  /** More text may follow. */
  readonly isStreaming: boolean
  /** How many characters of it were played, if its speech was interrupted. */
  readonly played?: number
}

/** A tool call. */
export interface AnswerCall {
  readonly kind: 'call'
  readonly key: string
  readonly callId: string
  readonly name: string
  readonly state: CallState
  /** The arguments, as far as the model has written them. */
  readonly input: CallView['input']
  /** The input it ran with, if a person or a hook changed it. */
  readonly changedInput?: CallView['input']
  /** Why it cannot run as the model wrote it. */
  readonly problem?: string
  /** What waits for a decision, or for a result (`wants`), in this call or in its sub-agent. */
  readonly requests: readonly ToolRequest[]
  /** How to show it, if its tool says so. */
  readonly display?: NonNullable<CallView['display']>
  /** The end of its output so far, if it reports output. */
  readonly printed: string
  /** The last few progress reports. */
  readonly progress: readonly unknown[]
  /** The conversation of its sub-agent. */
  readonly messages: readonly ThreadMessage[]
  readonly result?: ToolResultEvent
  /** Present if the provider runs the tool itself. */
  readonly provider?: NonNullable<CallView['provider']>
  readonly startedAt?: number
  readonly endedAt?: number
}

/** A line about the run: a retry, another process that took over, … */
export interface AnswerNotice {
  readonly kind: 'notice'
  readonly key: string
  readonly notice: NoticeView['notice']
  readonly text: string
  readonly detail?: string
}

/** A tool call that waits for a person or a client. */
export type ToolRequest = ApprovalView['request']

export interface MessageVersions {
  /** The index of the version that is shown. */
  readonly current: number
  readonly count: number
  /** For each version, the number to rewind to in order to show it. */
  readonly rewinds: readonly (number | undefined)[]
}
