import type { VoiceCommand, VoiceEvent } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'

/** Speaks with threads over their sockets: `voice()` of `@millrace/voice` makes one. */
export interface Voice {
  /** It can hear too. */
  readonly listens: boolean
  /** Begins with one client. `allow` is asked before what the client says is done; what it throws refuses it. */
  open(thread: Thread, outlet: VoiceOutlet & { readonly allow: () => void | Promise<void> }): VoiceSession
  /** Ends what waits, and gives up the voice and the listener. */
  close(): Promise<void>
}

/** One client that hears a thread, or is heard by it. */
export interface VoiceSession {
  /** Does what the client says. Rejects with `invalid_input` if that makes no sense. */
  obey(command: VoiceCommand): Promise<void>
  /** Takes a binary frame. Throws `invalid_input` if it is none that a client may send. */
  hear(bytes: Uint8Array): void
  /** The client is gone, and may come back. */
  lost(): void
  /** It is over for good; nothing is written any more. */
  end(): void
}

/** Where a session writes to: the socket of its client. */
export interface VoiceOutlet {
  tell(event: VoiceEvent): void
  audio(frame: Uint8Array<ArrayBuffer>): void
  /** Until the client has taken what it was sent. Resolves at once if it is gone. */
  room(): Promise<unknown>
  /** There is nothing more to follow: the thread is gone, or its app is closed. */
  over?(): void
}
