import type { Thread } from '../../threads/index.ts'
import type { VoiceOptions } from './options.ts'
import { readVoiceOptions } from './options.ts'
import type { VoiceSession } from './session.ts'
import { openSession } from './session.ts'
import type { VoiceOutlet } from './speaking/speaker.ts'

/** A way to speak with threads: handed to a server, or to the socket of a thread. */
export interface Voice {
  /** It can hear too. */
  readonly listens: boolean
  /** Begins with one client. `allow` is asked before what the client says is done; what it throws refuses it. */
  open(thread: Thread, outlet: VoiceOutlet & { readonly allow: () => void | Promise<void> }): VoiceSession
  /** Ends what waits, and gives up the voice and the listener. */
  close(): Promise<void>
}

/** Puts a voice and an ear together. Throws `invalid_input` naming the option that is wrong. */
export function voice(options: VoiceOptions): Voice {
  const settings = readVoiceOptions(options)
  const { speech, listener } = settings
  /** Those that may be taken up again, by their names. */
  const sessions = new Map<string, VoiceSession>()
  return {
    listens: listener !== undefined,
    open: (thread, outlet) => openSession({ ...settings, thread, outlet, allow: outlet.allow, sessions }),
    async close() {
      for (const session of [...sessions.values()]) session.end()
      await speech.close?.()
      await listener?.close?.()
    },
  }
}
