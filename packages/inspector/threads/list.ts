import { effect, signal } from '@preact/signals'
import type { ThreadFilters, ThreadInfo, ThreadPage } from 'millrace/client'
import { api, signedOut } from '../api.ts'
import { session } from '../state.ts'

/** What the list is filtered by. */
export interface ThreadQuery extends Omit<ThreadFilters, 'search' | 'since' | 'until'> {
  readonly search: string
  /** Changed today (1), or in the last 7 or 30 days. */
  readonly days?: number | undefined
}

export type FilterName = Exclude<keyof ThreadQuery, 'search'>

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

export const query = signal<ThreadQuery>({ search: '' })
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
  const start = performance.now()
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
  // A search of a large store is not repeated all the time.
  if (asked === query.value) refreshIn(Math.max(refreshMs, 10 * (performance.now() - start)))
}

/** Does nothing while the page is hidden or the user is signed out. */
function refreshIn(ms: number) {
  clearTimeout(timer)
  if (document.hidden || signedOut.value) return
  timer = setTimeout(() => void refresh(), ms)
}

/** Stops early if something else is asked for. */
async function fetchThreads(asked: ThreadQuery, count: number): Promise<Omit<ThreadResults, 'query'>> {
  const filters = filtersOf(asked, Date.now())
  const threads: ThreadInfo[] = []
  let next: ThreadPage['next']
  do {
    const page: ThreadPage = await api.threads({
      limit: Math.min(count - threads.length, maxPageSize),
      ...filters,
      ...(next !== undefined && { cursor: next }),
    })
    threads.push(...page.threads)
    next = page.next
  } while (next !== undefined && threads.length < count && asked === query.value)
  return { threads, hasMore: next !== undefined }
}

/** What the server is asked for. Filters that are not set are left out. */
function filtersOf({ search: words, days, ...filters }: ThreadQuery, now: number): ThreadFilters {
  const search = words.trim()
  const since = days && new Date(now).setHours(0, 0, 0, 0) - (days - 1) * 86_400_000
  return { ...filters, ...(search && { search }), ...(since && { since }) }
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

/** Sets a filter, or removes it. */
export function filterBy<Name extends FilterName>(name: Name, value: ThreadQuery[Name] | ''): void {
  const { search, ...others } = query.value
  const filters = Object.entries({ ...others, [name]: value }).filter(([, set]) => set)
  maxShown = pageSize
  query.value = { search, ...Object.fromEntries(filters) }
  void refresh()
}

/** Removes all filters and the search. */
export function showAll(): void {
  maxShown = pageSize
  query.value = { search: '' }
  void refresh()
}

/** The filters that are set. */
export function filterNames({ search, ...filters }: ThreadQuery): readonly FilterName[] {
  return Object.keys(filters) as FilterName[]
}

/** The title of a thread, if the list has it. */
export function titleIn(id: string): string | undefined {
  return results.value?.threads.find((thread) => thread.id === id)?.title
}

/** Changes a title in the list, before the server confirms it. */
export function changeTitle(id: string, title: string): void {
  if (!results.value) return
  const threads = results.value.threads.map((thread) => (thread.id === id ? { ...thread, title } : thread))
  results.value = { ...results.value, threads }
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
