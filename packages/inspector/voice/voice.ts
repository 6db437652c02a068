import { effect, signal } from '@preact/signals'
import { api, token } from '../api.ts'
import { startedHere } from '../chat/live-region.tsx'
import { session } from '../state.ts'

/** What the server supports. */
export const capabilities = signal({ speak: false, listen: false })
/** Whether answers are spoken, and the microphone is on. Kept when another thread is opened. */
export const speaking = signal(false)
export const listening = signal(false)
/** The sentence that is being played; empty if there is none. */
export const currentSentence = signal('')
/** What was recognized of the current speech; empty if the user is not speaking. */
export const partialTranscript = signal('')

/** Loaded when voice is first used. */
let lineModule: Promise<typeof import('./voice-line.ts')> | undefined

/** Stops the speech that is being played. */
export function silence(): void {
  if (!currentSentence.value) return
  currentSentence.value = ''
  lineModule?.then(({ interrupt }) => interrupt())
}

effect(() => {
  void token.value
  api.voice().then(
    (found) => (capabilities.value = found),
    // Treated as no voice support.
    () => {},
  )
})

effect(() => {
  const { value: open } = session
  const enabled = { speak: speaking.value, listen: listening.value }
  // A thread that was created on this page is spoken from its first word.
  const isNew = open !== undefined && startedHere.has(open.thread.id)
  if (enabled.speak || enabled.listen) lineModule ??= import('./voice-line.ts')
  lineModule?.then(
    ({ connectVoice }) => connectVoice({ open, enabled, isNew }),
    () => {
      lineModule = undefined
      speaking.value = false
      listening.value = false
    },
  )
})
