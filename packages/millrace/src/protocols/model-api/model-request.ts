import type { Message, RunRequest } from '../../protocol/index.ts'
import type { Thread } from '../../threads/index.ts'
import type { FoundThread } from '../protocol.ts'

/** A request to a model API, in no protocol's format. */
export interface ModelRequest {
  /** The agent that answers. */
  readonly agent: string
  /**
   * The conversation as the client knows it, or only what is new if it names what it `continues`.
   * Without system messages and without reasoning. Ends with user messages, tool results, or both.
   */
  readonly messages: readonly Message[]
  /** What comes with it, before the server's `clientOptions` are applied. */
  readonly request: RunRequest
  /** Decisions about calls that wait for approval, by the ids of the calls. */
  readonly decisions?: ReadonlyMap<string, { readonly approved: boolean; readonly reason?: string }>
  /** The thread that the client names, and the response in it that the request follows, if any. */
  readonly continues?: { readonly found: FoundThread; readonly after?: number | undefined } | undefined
  /**
   * A name for a new thread that the client chose (`x-thread-id`). Unless there is a thread with
   * this id, or one that was created for this name.
   */
  readonly threadName?: string | undefined
  /**
   * Identifies the request if the client sends it again after a cut: the same key and conversation
   * get the same answer. Without it, each request gets an answer of its own.
   */
  readonly retryKey?: string | undefined
}

/** A response in the log of a thread. Its id names it, so that nothing has to be looked up. */
export interface Place {
  readonly thread: Thread
  /**
   * The number of the input that it answers, or of the last result or decision after which the run
   * continues. The response consists of what follows.
   */
  readonly start: number
  /** The number of the entry before the first one to read: the start of its run, or `start - 1`. */
  readonly after: number
  /** The number of the input or `rewind` that its run answers, if known. */
  readonly answers: number | undefined
}
