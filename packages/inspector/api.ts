import { computed, effect, signal } from '@preact/signals'
import type { Client, ClientOptions } from 'millrace/client'
import { client } from 'millrace/client'
import { openSession } from './session.ts'
import { keep, kept, selection, session, shownEntry, threadsOpen } from './state.ts'

/** The server that the page came from, wherever it is mounted. */
const base = new URL('.', location.href).href

const tokenKey = 'millrace.token'

/** For as long as the tab is open: a token is not left behind on the machine. */
export const token = signal(kept(tokenKey, 'sessionStorage') ?? '')

/** The server wants to know who asks. */
export const signedOut = signal(false)

export function signIn(given: string): void {
  keep(tokenKey, given, 'sessionStorage')
  token.value = given
  signedOut.value = false
}

const watchedFetch: ClientOptions['fetch'] = async (url, init) => {
  const response = await fetch(url, init)
  if (response.status === 401) signedOut.value = true
  return response
}

function connect(options: ClientOptions = {}): Client {
  return client(base, { fetch: watchedFetch, ...(token.value && { token: token.value }), ...options })
}

const current = computed(() => connect())

export const api: Client = {
  thread: (id) => current.value.thread(id),
  create: (options) => current.value.create(options),
  threads: (options) => current.value.threads(options),
  agents: () => current.value.agents(),
  usage: () => current.value.usage(),
  voice: () => current.value.voice(),
}

/** The id of the thread that the address names. */
const route = signal(routeOf(location.hash))

function routeOf(hash: string): string | undefined {
  const [, id] = /^#\/threads\/([\w.-]{1,128})$/.exec(hash) ?? []
  return id
}

addEventListener('hashchange', () => {
  route.value = routeOf(location.hash)
})

export function addressOf(id: string): string {
  return `#/threads/${id}`
}

export function openThread(id: string): void {
  location.hash = addressOf(id)
}

/** The page on which a thread begins. */
export function newThread(): void {
  location.hash = '#/'
}

effect(() => {
  const id = route.value
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
