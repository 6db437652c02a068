import type { Voice } from 'millrace/server'
import type { VoiceOptions } from './options.ts'
import { readVoiceOptions } from './options.ts'
import type { ResumableSession } from './session.ts'
import { openSession } from './session.ts'

/** Puts a voice and an ear together. Throws `invalid_input` naming the option that is wrong. */
export function voice(options: VoiceOptions): Voice {
  const settings = readVoiceOptions(options)
  const { speech, listener } = settings
  /** Those that may be taken up again, by their names. */
  const sessions = new Map<string, ResumableSession>()
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
