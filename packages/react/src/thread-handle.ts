import type {
  ApprovalAnswer,
  MillraceError,
  RemoteThread,
  RespondOptions,
  SendOptions,
  ThreadStatus,
} from 'millrace/client'
import type { SentMessage, ThreadMessage, ToolRequest } from './messages.ts'

/** Text, or a message with images and files. */
export type Sendable = Parameters<RemoteThread['send']>[0]

/**
 * - `connecting`: reading the thread, and opening a connection to follow it
 * - `open`: connected
 * - `reconnecting`: the connection was lost and is being opened again
 * - `closed`: there is no thread yet, it was deleted, or `error` says why it cannot be read
 */
export type ThreadConnection = 'connecting' | 'open' | 'reconnecting' | 'closed'

/** A thread and what can be done with it. The functions never change and never reject. */
export interface ThreadHandle {
  /** Absent until the first message has created the thread. */
  readonly id: string | undefined
  /** What was sent but is not in the log yet comes last. */
  readonly messages: readonly ThreadMessage[]
  /**
   * `loading`: reading the conversation so far. `queued`: an answer is about to start. `waiting`:
   * for a person, or for the result of a tool.
   */
  readonly status: 'loading' | ThreadStatus
  readonly connection: ThreadConnection
  /** The tool calls that wait for a decision: `approve()` or `deny()`. */
  readonly approvals: readonly ToolRequest[]
  /**
   * Why the last action failed, or why the thread cannot be followed. The error of a run is in its
   * answer, and that of a message in the message.
   */
  readonly error: MillraceError | undefined

  /** Sends a message, which is shown at once. Resolves when the server has it, or when it failed. */
  readonly send: (message: Sendable, options?: Pick<SendOptions, 'mode' | 'request'>) => Promise<void>
  /** Stops the current run. */
  readonly stop: (reason?: string) => Promise<void>
  /** Approves a tool call, with other input or for further calls too. */
  readonly approve: (callId: string, answer?: Pick<ApprovalAnswer, 'input' | 'remember'>) => Promise<void>
  /** Denies a tool call. The model sees the reason. */
  readonly deny: (callId: string, reason?: string) => Promise<void>
  /** Sends the result of a tool that has no function in `tools`. */
  readonly respond: (callId: string, output: unknown, options?: RespondOptions) => Promise<void>
  /** Generates an answer again, by default the last one, or sends a failed message again. */
  readonly retry: (message?: ThreadMessage) => Promise<void>
  /** Replaces a message. What came after it becomes an earlier version. */
  readonly edit: (message: SentMessage, content: Sendable) => Promise<void>
  /** Shows another version of a message and of what came after it. */
  readonly selectVersion: (message: ThreadMessage, index: number) => Promise<void>
  /** Removes a message that has not been sent. */
  readonly discard: (message: SentMessage) => void
  /** The thread of `millrace/client`. Rejects if it cannot be created. */
  readonly open: () => Promise<RemoteThread>
}
