import { agent } from '../agent/index.ts'
import type { Model, ThreadInfo } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import type { App, Thread, ThreadStore } from '../threads/index.ts'
import { millrace } from '../threads/index.ts'
import { onlyLooking, onlyOwn } from './claims.ts'
import { openData } from './data.ts'

/** The name of the agent that a question of the command line is put to. */
export const ownAgent = 'cli'

/** Stands where an app wants an agent and there is nothing for one to do. */
const nobody: Model = {
  id: 'nobody',
  provider: 'nobody',
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
      message: 'the thread was being stopped: ask again',
    })
  },
}

/** All threads of a file, to look at. */
export function threadsAt(data: string | undefined): App {
  const store = onlyLooking(openData(data, { mustExist: true }))
  return withStore(millrace({ agents: agent({ name: ownAgent, model: nobody }), store }), store)
}

/** The same app, which closes its store too: only then is everything in the one file, with no `-wal` beside it. */
export function withStore<A extends App>(app: A, store: ThreadStore): A {
  return {
    ...app,
    async close(options) {
      await app.close(options)
      await store.close()
    },
  }
}

export interface ThreadAt {
  readonly app: App
  readonly thread: Thread
  readonly info: ThreadInfo
}

/** One of them, to look at. Throws `not_found` if it is not there. */
export async function threadAt(
  data: string | undefined,
  id: string,
  options: { readonly works?: boolean } = {},
): Promise<ThreadAt> {
  const store = openData(data, { mustExist: true })
  const info = await store.get(id)
  if (info) return visit(store, info, options)
  await store.close()
  throw noThread(id)
}

/**
 * A thread to look at and to leave word in: what is to be done is left to whoever has its agent. With `works` it is done here where
 * nobody does it, which is only good for ending it.
 */
export function visit(
  store: ThreadStore,
  info: ThreadInfo,
  { works = false }: { readonly works?: boolean } = {},
): ThreadAt {
  const agents = { [info.agent]: agent({ name: info.agent, model: nobody }) }
  const app = withStore(millrace({ agents, store: works ? onlyOwn(store) : onlyLooking(store) }), store)
  return { app, thread: app.thread(info.id), info }
}

export function noThread(id: string): MillraceError {
  const message = `there is no thread '${id}': millrace threads lists those there are`
  return new MillraceError({ op: 'millrace', code: 'not_found', message })
}
