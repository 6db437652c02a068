import type { AgentOptions, Tool } from 'millrace'
import { agent } from 'millrace'
import { type ServeOptions, serve } from 'millrace/server'
import { type ScriptStep, scriptedModel } from 'millrace/testing'
import { onTestFinished } from 'vitest'
import type { ThreadHandle } from './thread-handle.ts'
import type { UseThreadOptions } from './thread-options.ts'
import { type ThreadStore, threadStore } from './thread-store.ts'

type Messages = Parameters<
  Extract<Parameters<typeof scriptedModel>[0], (...args: never) => unknown>
>[0]['messages']

interface ServerOptions extends Partial<ServeOptions> {
  readonly tools?: readonly Tool[]
  readonly agent?: Partial<AgentOptions>
  readonly port?: number
  readonly answer: (said: string, messages: Messages) => string | ScriptStep[]
}

/** A real server whose model answers what was said last. Ends with the test. */
export async function startServer({ answer, tools = [], port, agent: more, ...options }: ServerOptions) {
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    return answer(last?.role === 'user' ? textOf(last.content) : '', messages)
  })
  const limits = { requestsPerSecond: 100_000 }
  const app = serve({ agents: agent({ model, tools, ...more }), limits, ...options })
  onTestFinished(() => app.close({ graceMs: 0 }))
  const listening = await app.listen(port === undefined ? {} : { port })
  return { app, url: listening.url, port: listening.port }
}

function textOf(content: string | readonly { readonly type: string; readonly text?: string }[]): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

/** A store with a subscriber, and every snapshot that the subscriber got. */
export function openStore(options: UseThreadOptions) {
  const store: ThreadStore = threadStore({ retry: { baseMs: 1 }, ...options })
  const seen: ThreadHandle[] = []
  let check = () => {}
  const unsubscribe = store.subscribe(() => {
    seen.push(store.getSnapshot())
    check()
  })
  onTestFinished(unsubscribe)
  return {
    store,
    seen,
    unsubscribe,
    get now() {
      return store.getSnapshot()
    },
    /** Resolves with the first snapshot, from now on, that fits. */
    until(fits: (state: ThreadHandle) => boolean): Promise<ThreadHandle> {
      const state = store.getSnapshot()
      if (fits(state)) return Promise.resolve(state)
      const { promise, resolve } = Promise.withResolvers<ThreadHandle>()
      const before = check
      check = () => {
        before()
        const next = store.getSnapshot()
        if (fits(next)) resolve(next)
      }
      return promise
    },
  }
}

export const idle = ({ status, messages }: ThreadHandle) => status === 'idle' && messages.length > 0

/** The texts of a conversation. */
export function textsOf({ messages }: ThreadHandle): string[] {
  return messages.map((message) => {
    if (message.role === 'user') return message.text
    return message.parts.map((part) => (part.kind === 'text' ? part.text : `[${part.kind}]`)).join('')
  })
}
