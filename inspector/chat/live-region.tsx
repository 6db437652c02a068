import { useSignal, useSignalEffect } from '@preact/signals'
import type { VNode } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import { announcer } from './announcer.ts'

/** Whoever comes back after an hour does not want all of it. */
const most = 20
/** After this nobody finds them any more by searching the page: they have been said. */
const keptMs = 10_000

/** The threads that began on this page: whoever began them has heard nothing of them yet. */
export const begunHere = new Set<string>()

/** What happens, in sentences, for those who listen. What was there when the thread was opened is not told again. */
export function LiveRegion({ session }: { readonly session: Session }) {
  const sentences = useSignal<readonly VNode[]>([])
  const announce = useMemo(announcer, [])
  const heard = useRef<number>(undefined)
  useSignalEffect(() => {
    const { log, tick, connection, thread } = session
    // Read before anything else, so that this is done again with each change.
    if (tick.value < 0 || connection.value !== 'live') return
    const isNew = heard.current !== undefined || begunHere.delete(thread.id)
    const told = log.entries.slice(heard.current).flatMap(({ seq, event }) => {
      const text = announce(event)
      return text ? [<p key={seq}>{visible(text)}</p>] : []
    })
    heard.current = log.entries.length
    const fresh = isNew ? told.slice(-most) : []
    if (fresh.length === 0) return
    sentences.value = [...sentences.peek(), ...fresh]
    setTimeout(() => {
      sentences.value = sentences.value.slice(fresh.length)
    }, keptMs)
  })
  return (
    <div class="unseen" aria-live="polite">
      {sentences.value}
    </div>
  )
}
