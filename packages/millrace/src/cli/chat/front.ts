import type { ApprovalRequestEvent, Entry } from '../../protocol/index.ts'

/** Where a conversation stands, for the person in front of it. */
export interface Status {
  /** A run is under way, or waits for a person. */
  readonly busy: boolean
  /** It was asked to stop and has not yet. */
  readonly stopping: boolean
  /** What was said and not heard yet. `held`: before a stop, so that nothing is begun for it. */
  readonly waiting: readonly { readonly text: string; readonly held: boolean }[]
  /** The call that a person has to decide about. */
  readonly question: ApprovalRequestEvent | undefined
}

export const atRest: Status = { busy: false, stopping: false, waiting: [], question: undefined }

/** What the person in front of it asks for. */
export interface Person {
  say(text: string): void
  /** Ctrl-C, or Escape: stops what is under way. */
  stop(): void
  leave(): void
}

/** Shows a conversation, and hears the person in front of it: a screen, or plain lines. */
export interface Front {
  /** What was said before, briefly. `earlier`: there is more before that. */
  recall(entries: readonly Entry[], earlier: boolean): void
  tell(entry: Entry): void
  /** Something changed in where it stands. */
  update(status: Status): void
  /** A command, as it was written. */
  echo(text: string): void
  /** Lines of our own: an answer to a command, or what went wrong. */
  note(text: string, kind?: 'plain' | 'dim' | 'problem'): void
  /** Puts a text where the person writes, to be changed and sent. */
  suggest(text: string): void
  /** Another conversation begins. */
  begin(): void
  /** Gives the terminal back as it was. May be called twice. */
  close(): void
}
