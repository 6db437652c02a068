import { computed, effect, signal } from '@preact/signals'
import type { Client, ClientOptions } from 'millrace/client'
import { client } from 'millrace/client'
import type { Session } from './session.ts'
import { openSession } from './session.ts'
import { readStorage, selection, session, shownEntry, threadsOpen, writeStorage } from './state.ts'

/** The server that served this page, under whatever path it is mounted. */
const base = new URL('.', location.href).href

const tokenKey = 'millrace.token'

/** Kept until the tab is closed, so that no token is left on the machine. */
export const token = signal(readStorage(tokenKey, 'sessionStorage') ?? '')

/** The server answered 401. */
export const signedOut = signal(false)

export function signIn(entered: string): void {
  writeStorage(tokenKey, entered, 'sessionStorage')
  token.value = entered
  signedOut.value = false
}

const checkedFetch: ClientOptions['fetch'] = async (url, init) => {
  // A thread is deleted when the page is closed, too: that request must outlive the page.
  const response = await fetch(url, init?.method === 'DELETE' ? { ...init, keepalive: true } : init)
  if (response.status === 401) signedOut.value = true
  return response
}

function connect(options: ClientOptions = {}): Client {
  return client(base, { fetch: checkedFetch, ...(token.value && { token: token.value }), ...options })
}

const current = computed(() => connect())

export const api: Omit<Client, 'spending'> = {
  thread: (id) => current.value.thread(id),
  create: (options) => current.value.create(options),
  threads: (options) => current.value.threads(options),
  agents: () => current.value.agents(),
  agent: (name) => current.value.agent(name),
  import: (exported, options) => current.value.import(exported, options),
  usage: () => current.value.usage(),
  voice: () => current.value.voice(),
}

/** Reads and follows a thread other than the open one. Close it when it is no longer needed. */
export function followThread(id: string): Session {
  return openSession(id, connect)
}

/** What the URL asks for: a thread, the active runs, or else a new thread. */
interface Route {
  readonly thread?: string
  readonly isRuns?: boolean
}

/** The address of the active runs. */
const runsAddress = '#/runs'

const route = signal(routeOf(location.hash))

function routeOf(hash: string): Route {
  const [, thread] = /^#\/threads\/([\w.-]{1,128})$/.exec(hash) ?? []
  return thread ? { thread } : { isRuns: hash === runsAddress }
}

addEventListener('hashchange', () => {
  route.value = routeOf(location.hash)
})

export const isRunsOpen = computed(() => route.value.isRuns === true)

export function addressOf(id: string): string {
  return `#/threads/${id}`
}

export function openThread(id: string): void {
  location.hash = addressOf(id)
}

export function openRuns(): void {
  location.hash = runsAddress
}

/** Opens the page for a new thread. */
export function newThread(): void {
  location.hash = '#/'
}

effect(() => {
  const { thread: id } = route.value
  const { value: known } = token
  threadsOpen.value = false
  selection.value = undefined
  shownEntry.value = undefined
  const opened =
    id === undefined
      ? undefined
      : openSession(id, (options) => connect({ ...options, ...(known && { token: known }) }))
  session.value = opened
  return () => opened?.close()
})
