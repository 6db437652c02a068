import type { Voice } from 'millrace/server'
import type { VoiceOptions } from './options.ts'
import { readVoiceOptions } from './options.ts'
import { segmenter } from './segmenter.ts'
import type { ResumableSession } from './session.ts'
import { openSession } from './session.ts'

/**
 * Combines a speech synthesizer and a listener. Throws `invalid_input` with the name of the invalid
 * option.
 */
export function voice(options: VoiceOptions): Voice {
  const settings = readVoiceOptions(options)
  const { speech, listener } = settings
  // Now, and not while a listener waits for the first word.
  segmenter('word')
  /** Sessions that a reconnecting client can resume, by name. */
  const sessions = new Map<string, ResumableSession>()
  return {
    listens: listener !== undefined,
    open: (thread, outlet) =>
      openSession({ ...settings, thread, outlet, authorize: outlet.authorize, sessions }),
    async close() {
      for (const session of [...sessions.values()]) session.end()
      await speech.close?.()
      await listener?.close?.()
    },
  }
}
