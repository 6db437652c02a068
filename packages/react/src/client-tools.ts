import type { RemoteThread } from 'millrace/client'
import type { RunView } from 'millrace/view'
import type { ToolRequest } from './messages.ts'
import { openRequests } from './parts.ts'
import type { UseThreadOptions } from './thread-options.ts'

interface ClientToolsOptions {
  tools(): UseThreadOptions['tools']
  /** Does a request again after a lost connection. */
  persist<Value>(work: () => Promise<Value>): Promise<Value>
  onError(error: unknown): void
}

/** Runs the tools of this client, each call once. */
export function clientTools({ tools, persist, onError }: ClientToolsOptions) {
  const started = new Map<string, AbortController>()

  async function run(thread: RemoteThread, { callId, name, input }: ToolRequest, signal: AbortSignal) {
    // The log may already have a result that has not arrived here yet.
    const { approvals } = await persist(() => thread.state({ before: 1 }))
    const tool = tools()?.[name]
    const call = typeof tool === 'function' ? tool : tool?.run
    if (!call || !approvals.some((one) => one.callId === callId)) return
    try {
      const output = await call(input, { callId, signal })
      await persist(() => thread.respond(callId, output))
    } catch (thrown) {
      // It failed, or its output cannot be sent.
      const reason = thrown instanceof Error ? thrown.message : String(thrown)
      await persist(() => thread.respond(callId, reason, { isError: true }))
    }
  }

  return {
    /** Starts what waits for a result in a run, and aborts what no longer does. */
    update(thread: RemoteThread, current: RunView | undefined): void {
      const wanted = (current?.calls ?? []).flatMap(openRequests).filter(({ wants }) => wants === 'result')
      for (const [callId, controller] of started)
        if (!wanted.some((request) => request.callId === callId)) controller.abort()
      for (const request of wanted) {
        const { callId, name } = request
        const tool = tools()?.[name]
        if (started.has(callId) || !tool || (typeof tool !== 'function' && !tool.run)) continue
        const controller = new AbortController()
        started.set(callId, controller)
        const work = () => run(thread, request, controller.signal)
        onlyHere(`millrace ${thread.id} ${callId}`, work).catch(onError)
      }
    },
  }
}

/** Tabs of the same browser take turns. Locks are only available over https and on localhost. */
async function onlyHere(name: string, work: () => Promise<void>): Promise<void> {
  const { locks } = globalThis.navigator ?? {}
  await (locks ? locks.request(name, work) : work())
}
