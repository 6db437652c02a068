import { effect, signal } from '@preact/signals'
import type { ListThreadsOptions, ThreadInfo, ThreadPage } from 'millrace/client'
import { api, signedOut } from '../api.ts'
import { session } from '../state.ts'

/** What the list is asked for. */
export interface Wanted {
  readonly search: string
  /** All if empty. */
  readonly status: NonNullable<ListThreadsOptions['status']> | ''
}

export interface Found {
  readonly threads: readonly ThreadInfo[]
  readonly hasMore: boolean
  /** What was asked for, to which this is the answer. */
  readonly wanted: Wanted
}

const pageSize = 50
/** The server gives no more at once. */
const mostAtOnce = 1000
const refreshMs = 2000
/** So long nobody has typed before a search is sent. */
const typingMs = 200

export const wanted = signal<Wanted>({ search: '', status: '' })
/** Undefined until the first answer came. */
export const found = signal<Found | undefined>(undefined)
/** The last time nothing came: it is tried again. */
export const isOutOfReach = signal(false)

/** How many are shown at most. */
let most = pageSize
let timer: ReturnType<typeof setTimeout> | undefined
/** That of the latest request: what older ones bring is not looked at. */
let latest = 0

/** Asks anew, now. What is shown stays until the answer is there; if none comes, it is asked again later. */
async function refresh(): Promise<void> {
  clearTimeout(timer)
  const own = ++latest
  const { value: asked } = wanted
  try {
    const answer = await listed(asked, most)
    if (own !== latest) return
    found.value = { ...answer, wanted: asked }
    isOutOfReach.value = false
  } catch {
    if (own !== latest) return
    isOutOfReach.value = true
  }
  // What was typed meanwhile is asked for sooner.
  if (asked === wanted.value) later(refreshMs)
}

/** A page that nobody sees, or that has yet to tell who it is, asks nothing. */
function later(ms: number) {
  clearTimeout(timer)
  if (document.hidden || signedOut.value) return
  timer = setTimeout(() => void refresh(), ms)
}

async function listed({ search: words, status }: Wanted, count: number): Promise<Omit<Found, 'wanted'>> {
  const search = words.trim()
  const threads: ThreadInfo[] = []
  let next: ThreadPage['next']
  do {
    const page: ThreadPage = await api.threads({
      limit: Math.min(count - threads.length, mostAtOnce),
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
  const { threads, hasMore } = found.value ?? { threads: [], hasMore: false }
  // Whoever scrolls asks for it again and again.
  if (!hasMore || most > threads.length) return
  most = threads.length + pageSize
  void refresh()
}

/** As it was typed: a space at the end is where the next word begins. */
export function searchFor(words: string): void {
  most = pageSize
  wanted.value = { ...wanted.value, search: words }
  later(typingMs)
}

export function onlyThose(status: Wanted['status']): void {
  most = pageSize
  wanted.value = { ...wanted.value, status }
  void refresh()
}

/** Takes a thread out before the server is asked again. */
export function forget(id: string): void {
  if (found.value) {
    const threads = found.value.threads.filter((thread) => thread.id !== id)
    found.value = { ...found.value, threads }
  }
  void refresh()
}

/** Keeps the list up to date for as long as it is shown. Gives what ends that. */
export function watchThreads(): () => void {
  const onVisibility = () => (document.hidden ? clearTimeout(timer) : void refresh())
  document.addEventListener('visibilitychange', onVisibility)
  // Another thread was opened, perhaps a new one; or somebody has signed in.
  const stop = effect(() => {
    void session.value
    if (!signedOut.value) void refresh()
  })
  return () => {
    stop()
    document.removeEventListener('visibilitychange', onVisibility)
    clearTimeout(timer)
    latest++
  }
}
