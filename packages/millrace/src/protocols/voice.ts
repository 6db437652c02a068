import type { VoiceCommand, VoiceEvent } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'

/** Adds voice to the WebSockets of threads. Created by `voice()` from `@millrace/voice`. */
export interface Voice {
  /** Whether it supports speech input. */
  readonly listens: boolean
  /**
   * Starts a session for one client. `authorize` is called before each command; an exception
   * rejects it.
   */
  open(thread: Thread, outlet: VoiceOutlet & { readonly authorize: () => void | Promise<void> }): VoiceSession
  /** Ends sessions that wait for a reconnect, and closes the voice and the listener. */
  close(): Promise<void>
}

/** A voice session of one client. */
export interface VoiceSession {
  /** Handles a command of the client. Rejects with `invalid_input` if it is not valid now. */
  handleCommand(command: VoiceCommand): Promise<void>
  /** Handles a binary frame of the client. Throws `invalid_input` if it is malformed. */
  receiveAudio(bytes: Uint8Array): void
  /** The client has disconnected, and may reconnect. */
  disconnected(): void
  /** Ends the session for good. Nothing more is sent. */
  end(): void
}

/** The socket of the client that a session sends to. */
export interface VoiceOutlet {
  send(event: VoiceEvent): void
  sendAudio(frame: Uint8Array<ArrayBuffer>): void
  /** Resolves when the client has received what was sent, or has disconnected. */
  drained(): Promise<unknown>
  /** Called when the thread was deleted, or its app is closed. */
  threadEnded?(): void
}
