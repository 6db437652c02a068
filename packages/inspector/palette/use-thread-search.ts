import type { Signal } from '@preact/signals'
import { useSignal } from '@preact/signals'
import type { ThreadInfo } from 'millrace/client'
import { useEffect, useMemo } from 'preact/hooks'
import { api } from '../api.ts'
import { session } from '../state.ts'
import { filterNames, results } from '../threads/list.ts'

const limit = 8
const typingMs = 150

/**
 * The threads that the server finds for a text, most recent first; those before until they arrive.
 * Without a text, the first ones of the list: they are there at once, and nothing moves.
 */
export function useThreadSearch(text: string): Signal<readonly ThreadInfo[]> {
  const recent = useMemo(recentThreads, [])
  const found = useSignal(recent)
  const search = text.trim()
  useEffect(() => {
    if (!search) {
      found.value = recent
      return
    }
    let isLatest = true
    const ask = () =>
      api.threads({ limit, search }).then(
        ({ threads }) => {
          if (isLatest) found.value = threads
        },
        // The commands work without a server.
        () => {},
      )
    const timer = setTimeout(ask, typingMs)
    return () => {
      isLatest = false
      clearTimeout(timer)
    }
  }, [search])
  return found
}

/** Empty while the list is filtered. The open thread is left out: it is open already. */
function recentThreads(): readonly ThreadInfo[] {
  const { threads, query } = results.value ?? { threads: [], query: { search: '' } }
  if (query.search || filterNames(query).length > 0) return []
  return threads.filter(({ id }) => id !== session.value?.thread.id).slice(0, 3)
}
