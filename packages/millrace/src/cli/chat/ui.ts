import type { ApprovalRequestEvent, Entry } from '../../protocol/index.ts'

/** The state of the thread that the chat shows. */
export interface Status {
  /** A run is running or suspended. */
  readonly busy: boolean
  /** The run was asked to stop and has not stopped yet. */
  readonly stopping: boolean
  /** Messages that no run has read. `held`: sent before a stop, so they start no run. */
  readonly queued: readonly { readonly text: string; readonly held: boolean }[]
  /** The tool call that waits for approval. */
  readonly approval: ApprovalRequestEvent | undefined
  /** The tool call that waits for a result from a client. */
  readonly unanswered: ApprovalRequestEvent | undefined
}

export const idleStatus: Status = {
  busy: false,
  stopping: false,
  queued: [],
  approval: undefined,
  unanswered: undefined,
}

/** What the user can do. */
export interface UserActions {
  send(text: string): void
  /** Ctrl-C or Escape: stops the answer. */
  stop(): void
  leave(): void
}

/** Shows a thread and reads the user's input: on a screen, or as plain lines. */
export interface ChatUi {
  /** Shows the last messages of an opened thread. `isCut`: there are more before them. */
  showEarlier(entries: readonly Entry[], isCut: boolean): void
  show(entry: Entry): void
  update(status: Status): void
  /** Shows a command as the user typed it. */
  echo(text: string): void
  /** Shows the output of a command, or an error. */
  note(text: string, kind?: 'plain' | 'dim' | 'problem'): void
  /** Puts a text into the input line, for the user to edit and send. */
  suggest(text: string): void
  /** Another thread is opened. */
  startThread(): void
  /** Restores the terminal. May be called twice. */
  close(): void
}
