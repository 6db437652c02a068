import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Session } from '../session.ts'
import { foundMessage } from '../state.ts'
import type { ListHandle } from '../virtual/virtual-list.tsx'
import type { Item } from './items.ts'

/** Scrolls to the message or answer that a search found, once it was read. `first` is the place of the first item. */
export function useFoundMessage(
  { thread, log }: Session,
  { items, first }: { readonly items: readonly Item[]; readonly first: number },
  list: RefObject<ListHandle | null>,
): void {
  const { value: found } = foundMessage
  // As of this render, like the items: more may have been read before the effect runs.
  const { head } = log
  useEffect(() => {
    if (found?.thread !== thread.id || head < found.seq) return
    foundMessage.value = undefined
    const index = items.findLastIndex(({ row }) => row.seq <= found.seq)
    if (index !== -1) list.current?.scrollTo(first + index, 'start')
  })
}
