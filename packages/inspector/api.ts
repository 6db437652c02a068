import { computed, effect, signal } from '@preact/signals'
import type { Client, ClientOptions } from 'millrace/client'
import { client } from 'millrace/client'
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
  const response = await fetch(url, init)
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
  usage: () => current.value.usage(),
  voice: () => current.value.voice(),
}

/** The id of the thread in the URL. */
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

/** Opens the page for a new thread. */
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
