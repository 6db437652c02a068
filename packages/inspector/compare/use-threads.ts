import type { MillraceError, ThreadInfo } from 'millrace/client'
import type { RunView } from 'millrace/view'
import { applyEntry, createView } from 'millrace/view'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.ts'

/** The delay after the last key press before a search is sent. */
const typingMs = 200
const maxThreads = 20
const pageSize = 10_000

export interface FoundThreads {
  readonly threads: readonly ThreadInfo[]
  readonly problem?: string
}

/** Threads that contain some words; the latest ones without words. */
export function useThreadSearch(words: string): FoundThreads {
  const [found, setFound] = useState<FoundThreads>({ threads: [] })
  useEffect(() => {
    let isWanted = true
    const search = words.trim()
    const timer = setTimeout(() => {
      api.threads({ limit: maxThreads, ...(search && { search }) }).then(
        ({ threads }) => isWanted && setFound({ threads }),
        ({ message }: MillraceError) =>
          isWanted && setFound({ threads: [], problem: `Can't search threads: ${message}` }),
      )
    }, typingMs)
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [words])
  return found
}

/** The runs of a thread as they are now; undefined while they are loading. */
export function useOtherThread(id: string): {
  readonly runs?: readonly RunView[]
  readonly problem?: string
} {
  const [known, setKnown] = useState<ReturnType<typeof useOtherThread> & { readonly of?: string }>({})
  useEffect(() => {
    let isWanted = id !== ''
    const load = async () => {
      const view = createView()
      const thread = api.thread(id)
      for (let more = true; more && isWanted; ) {
        const page = await thread.read({ after: view.head, limit: pageSize })
        for (const entry of page) applyEntry(view, entry)
        more = page.length > 0
      }
      if (isWanted) setKnown({ of: id, runs: view.runs })
    }
    if (isWanted)
      load().catch(({ message }: MillraceError) => {
        if (isWanted) setKnown({ of: id, problem: `Can't load that thread: ${message}` })
      })
    return () => {
      isWanted = false
    }
  }, [id])
  return known.of === id ? known : {}
}
