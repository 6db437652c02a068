import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import { announcementOf } from './announcer.ts'

/** Whoever comes back after an hour does not want all of it. */
const most = 20
/** After this nobody finds them any more by searching the page: they have been said. */
const keptMs = 10_000

/** The threads that began on this page: whoever began them has heard nothing of them yet. */
export const begunHere = new Set<string>()

/** What happens, in sentences, for those who listen. What was there when the thread was opened is not told again. */
export function LiveRegion({ session }: { readonly session: Session }) {
  const sentences = useSignal<readonly VNode[]>([])
  // Before anything is read of it.
  useMemo(() => {
    const isNew = begunHere.delete(session.thread.id)
    session.onChange = (change) => {
      const text = isNew || session.connection.peek() === 'live' ? announcementOf(change) : ''
      if (!text) return
      const sentence = <p key={change.entry.seq}>{visible(text)}</p>
      sentences.value = [...sentences.peek(), sentence].slice(-most)
      setTimeout(() => {
        sentences.value = sentences.peek().filter((one) => one !== sentence)
      }, keptMs)
    }
  }, [session])
  return (
    <div class="unseen" aria-live="polite">
      {sentences.value}
    </div>
  )
}
