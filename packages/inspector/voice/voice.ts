import { effect, signal } from '@preact/signals'
import { api, token } from '../api.ts'
import { begunHere } from '../chat/live-region.tsx'
import { session } from '../state.ts'

/** What the server can do. */
export const abilities = signal({ speak: false, listen: false })
/** Whether the thread that is open is to be heard, and to hear. Stays so when another is opened. */
export const speaking = signal(false)
export const listening = signal(false)
/** The sentence that is being said; empty if none is. */
export const spoken = signal('')
/** What was understood of somebody who is speaking; empty if nobody is. */
export const understood = signal('')

/** What it takes is loaded by those who speak only. */
let talking: Promise<typeof import('./talk.ts')> | undefined

/** Nothing more is said of an answer that is being said. */
export function hush(): void {
  if (!spoken.value) return
  spoken.value = ''
  talking?.then(({ interrupt }) => interrupt())
}

effect(() => {
  void token.value
  api.voice().then(
    (found) => (abilities.value = found),
    // Then it is as if there were none.
    () => {},
  )
})

effect(() => {
  const { value: open } = session
  const wish = { speak: speaking.value, listen: listening.value }
  // Of one that was begun here nobody has read anything: it is heard from its first word.
  const isNew = open !== undefined && begunHere.has(open.thread.id)
  if (wish.speak || wish.listen) talking ??= import('./talk.ts')
  talking?.then(
    ({ talk }) => talk({ open, wish, isNew }),
    () => {
      talking = undefined
      speaking.value = false
      listening.value = false
    },
  )
})
