import { effect, signal } from '@preact/signals'
import type { ListThreadsOptions, ThreadInfo, ThreadPage } from 'millrace/client'
import { api, signedOut } from '../api.ts'
import { session } from '../state.ts'

/** What the list is filtered by. */
export interface ThreadQuery {
  readonly search: string
  /** Empty: all. */
  readonly status: NonNullable<ListThreadsOptions['status']> | ''
}

export interface ThreadResults {
  readonly threads: readonly ThreadInfo[]
  readonly hasMore: boolean
  /** The query that this answers. */
  readonly query: ThreadQuery
}

const pageSize = 50
/** The largest page that the server returns. */
const maxPageSize = 1000
const refreshMs = 2000
/** The delay after the last key press before a search is sent. */
const typingMs = 200

export const query = signal<ThreadQuery>({ search: '', status: '' })
/** Undefined until the first response. */
export const results = signal<ThreadResults | undefined>(undefined)
/** Whether the last request failed. It is retried. */
export const isUnreachable = signal(false)

/** The maximum number of threads shown. */
let maxShown = pageSize
let timer: ReturnType<typeof setTimeout> | undefined
/** The number of the latest request. Responses to older ones are ignored. */
let latestRequest = 0

/** Fetches the list now, and again later. The old list stays visible until the response arrives. */
async function refresh(): Promise<void> {
  clearTimeout(timer)
  const request = ++latestRequest
  const { value: asked } = query
  try {
    const answer = await fetchThreads(asked, maxShown)
    if (request !== latestRequest) return
    results.value = { ...answer, query: asked }
    isUnreachable.value = false
  } catch {
    if (request !== latestRequest) return
    isUnreachable.value = true
  }
  // If the query changed in the meantime, an earlier refresh is already scheduled.
  if (asked === query.value) refreshIn(refreshMs)
}

/** Does nothing while the page is hidden or the user is signed out. */
function refreshIn(ms: number) {
  clearTimeout(timer)
  if (document.hidden || signedOut.value) return
  timer = setTimeout(() => void refresh(), ms)
}

async function fetchThreads(
  { search: words, status }: ThreadQuery,
  count: number,
): Promise<Omit<ThreadResults, 'query'>> {
  const search = words.trim()
  const threads: ThreadInfo[] = []
  let next: ThreadPage['next']
  do {
    const page: ThreadPage = await api.threads({
      limit: Math.min(count - threads.length, maxPageSize),
      ...(search && { search }),
      ...(status && { status }),
      ...(next !== undefined && { cursor: next }),
    })
    threads.push(...page.threads)
    next = page.next
  } while (next !== undefined && threads.length < count)
  return { threads, hasMore: next !== undefined }
}

export function showMore(): void {
  const { threads, hasMore } = results.value ?? { threads: [], hasMore: false }
  // Scrolling calls this repeatedly.
  if (!hasMore || maxShown > threads.length) return
  maxShown = threads.length + pageSize
  void refresh()
}

/** Keeps the search as typed, including a trailing space. */
export function searchFor(words: string): void {
  maxShown = pageSize
  query.value = { ...query.value, search: words }
  refreshIn(typingMs)
}

export function filterByStatus(status: ThreadQuery['status']): void {
  maxShown = pageSize
  query.value = { ...query.value, status }
  void refresh()
}

/** Removes a thread from the list, then refreshes. */
export function removeThread(id: string): void {
  if (results.value) {
    const threads = results.value.threads.filter((thread) => thread.id !== id)
    results.value = { ...results.value, threads }
  }
  void refresh()
}

/** Keeps the list up to date until the returned function is called. */
export function watchThreads(): () => void {
  const onVisibility = () => (document.hidden ? clearTimeout(timer) : void refresh())
  document.addEventListener('visibilitychange', onVisibility)
  // Refreshes when another thread is opened, which may be new, and after signing in.
  const stop = effect(() => {
    void session.value
    if (!signedOut.value) void refresh()
  })
  return () => {
    stop()
    document.removeEventListener('visibilitychange', onVisibility)
    clearTimeout(timer)
    latestRequest++
  }
}
