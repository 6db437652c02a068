import { agent } from '../agent/index.ts'
import type { Model, ThreadInfo } from '../protocol/index.ts'
import { invalidInput, MillraceError } from '../protocol/index.ts'
import type { App, Thread, ThreadStore } from '../threads/index.ts'
import { millrace } from '../threads/index.ts'
import { claimOnlyOwn, withoutClaims } from './claims.ts'
import { exchangesOf } from './exchanges.ts'
import { openStore } from './open-store.ts'
import type { StoreFlags } from './store-address.ts'
import { storeAddress } from './store-address.ts'

/** The name of the agent that answers on the command line. */
export const cliAgentName = 'cli'

/** For commands that open threads but never run an agent. */
const placeholderModel: Model = {
  id: 'none',
  provider: 'none',
  capabilities: {
    tools: true,
    images: true,
    files: true,
    reasoning: true,
    streaming: true,
    structuredOutput: true,
  },
  stream() {
    throw new MillraceError({
      op: 'millrace',
      code: 'llm_error',
      message: 'the thread was being stopped; ask again',
    })
  },
}

/** Opens all threads of a store, with their recorded exchanges, to read or delete them. */
export async function openThreads(flags: StoreFlags): Promise<App> {
  const address = storeAddress(flags)
  const opened = await openStore(address, { mustExist: true })
  const store = withoutClaims(opened)
  const exchanges = await exchangesOf(address, opened)
  const agents = agent({ name: cliAgentName, model: placeholderModel })
  return withStore(millrace({ agents, store, exchanges }), store)
}

/** Makes `app.close()` close the store too, which merges the `-wal` file into the database file. */
export function withStore<A extends App>(app: A, store: ThreadStore): A {
  return {
    ...app,
    async close(options) {
      await app.close(options)
      await store.close()
    },
  }
}

export interface OpenedThread {
  readonly app: App
  readonly store: ThreadStore
  readonly thread: Thread
  readonly info: ThreadInfo
}

/** Opens one thread without its agent. Throws `not_found` if it does not exist. */
export async function openThread(
  flags: StoreFlags,
  id: string,
  options: { readonly mayClaim?: boolean } = {},
): Promise<OpenedThread> {
  const store = await openStore(storeAddress(flags), { mustExist: true })
  const info = await store.get(id)
  if (info) return openWithoutAgent(store, info, options)
  await store.close()
  throw threadNotFound(id)
}

/**
 * Opens a thread to read it and to send signals. Its runs are left to the process that has its agent.
 * With `mayClaim` this process claims the thread if no other has, which is only good for stopping it.
 */
export function openWithoutAgent(
  store: ThreadStore,
  info: ThreadInfo,
  options?: { readonly mayClaim?: boolean },
): OpenedThread {
  const app = appWithoutAgent(store, info.agent, options)
  return { app, store, thread: app.thread(info.id), info }
}

/** An app that knows only the name of an agent. */
export function appWithoutAgent(
  store: ThreadStore,
  name: string,
  { mayClaim = false }: { readonly mayClaim?: boolean } = {},
): App {
  const agents = { [name]: agent({ name, model: placeholderModel }) }
  const claiming = mayClaim ? claimOnlyOwn(store) : withoutClaims(store)
  return withStore(millrace({ agents, store: claiming }), store)
}

export function missingThreadId(command: string): MillraceError {
  return invalidInput('millrace', `millrace ${command} needs a thread id; list threads with millrace threads`)
}

export function threadNotFound(id: string): MillraceError {
  const message = `no thread '${id}'; list threads with millrace threads`
  return new MillraceError({ op: 'millrace', code: 'not_found', message })
}
