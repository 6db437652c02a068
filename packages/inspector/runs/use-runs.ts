import type { Signal } from '@preact/signals'
import { useSignal } from '@preact/signals'
import type { ThreadInfo } from 'millrace/client'
import { useEffect } from 'preact/hooks'
import { api } from '../api.ts'

const refreshMs = 2000
/** Of each status. More can be neither read nor stopped by hand. */
const limit = 200
const active = ['running', 'waiting', 'queued'] as const

export interface RunList {
  /** Undefined until the first response. */
  readonly threads: Signal<readonly ThreadInfo[] | undefined>
  /** Whether the last request failed. It is retried. */
  readonly isUnreachable: Signal<boolean>
  refresh(): void
}

/** The threads of all servers with the same store that are running, waiting or queued. */
export function useRuns(): RunList {
  const threads = useSignal<readonly ThreadInfo[] | undefined>(undefined)
  const isUnreachable = useSignal(false)
  const wanted = useSignal(0)
  useEffect(() => {
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    async function refresh() {
      clearTimeout(timer)
      if (isOver || document.hidden) return
      try {
        const pages = await Promise.all(active.map((status) => api.threads({ status, limit })))
        if (isOver) return
        // A thread may have moved from one status to another between two of the requests.
        const found = new Map(pages.flatMap((page) => page.threads.map((thread) => [thread.id, thread])))
        threads.value = [...found.values()]
        isUnreachable.value = false
      } catch {
        if (!isOver) isUnreachable.value = true
      }
      clearTimeout(timer)
      timer = setTimeout(refresh, refreshMs)
    }
    void refresh()
    document.addEventListener('visibilitychange', refresh)
    return () => {
      isOver = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', refresh)
    }
  }, [wanted.value])
  return { threads, isUnreachable, refresh: () => void wanted.value++ }
}
