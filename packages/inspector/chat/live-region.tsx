import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import { announcementOf } from './announcer.ts'

/** A user who returns after an hour does not want to hear everything. */
const maxSentences = 20
/** Sentences are removed after this time, so that searching the page does not find them. */
const keptMs = 10_000

/** Threads created on this page, which are announced from their first entry. */
export const startedHere = new Set<string>()

/** Announces events to screen readers, except those from before the thread was opened. */
export function LiveRegion({ session }: { readonly session: Session }) {
  const sentences = useSignal<readonly VNode[]>([])
  // Set before the first entry is read.
  useMemo(() => {
    const isNew = startedHere.delete(session.thread.id)
    session.onChange = (change) => {
      const text = isNew || session.connection.peek() === 'live' ? announcementOf(change) : ''
      if (!text) return
      const sentence = <p key={change.entry.seq}>{visible(text)}</p>
      sentences.value = [...sentences.peek(), sentence].slice(-maxSentences)
      setTimeout(() => {
        sentences.value = sentences.peek().filter((one) => one !== sentence)
      }, keptMs)
    }
  }, [session])
  return (
    <div class="visually-hidden" aria-live="polite">
      {sentences.value}
    </div>
  )
}
