import type { RemoteThread } from 'millrace/client'
import { client, isMillraceError } from 'millrace/client'
import type { LogView, Outcome } from 'millrace/view'
import { applyEntry, createView, roundText } from 'millrace/view'
import type { Answer, Driver, Seen } from '../protocol-client.ts'

/** Our own protocol, with `millrace/client`. */
export const millrace: Driver = {
  name: 'Millrace',
  rejection: /^not_found: there is no such thread$/,
  async connect({ url }) {
    const server = client(url)
    let thread: RemoteThread | undefined

    return {
      async send(text) {
        thread ??= await server.create({ agent: 'desk' })
        return follow(thread, await thread.send(text))
      },
      async resume() {
        const { head } = await (thread as RemoteThread).state()
        return follow(thread as RemoteThread, head)
      },
      threadId: async () => (thread as RemoteThread).id,
      async open(threadId) {
        thread = server.thread(threadId)
      },
      async wrong() {
        const error = await server
          .thread('missing')
          .state()
          .catch((error: unknown) => error)
        return isMillraceError(error) ? `${error.code}: ${error.message}` : String(error)
      },
      async close() {},
    }
  },
}

/** The answer to an input, or the last one when the log had `from` entries. */
function follow(thread: RemoteThread, from: number): Answer {
  const view = createView()
  const connection = new AbortController()
  const reading = (async () => {
    for await (const entry of thread.follow({ signal: connection.signal })) applyEntry(view, entry)
  })().catch(() => {})
  const answer: Answer = {
    seen: () => seenIn(view, { from, isCut: connection.signal.aborted }),
    async cut() {
      connection.abort()
      await reading
    },
    async cancel() {
      await thread.stop()
    },
    async decide(approved) {
      const { approvals } = await thread.state()
      for (const { callId } of approvals) await thread.approve(callId, { approved })
      return answer
    },
  }
  return answer
}

// A run that is suspended and waits for nothing is about to be resumed.
const ends: { readonly [Name in Outcome]: Seen['end'] } = {
  ...{ completed: 'completed', canceled: 'canceled', suspended: undefined },
  ...{ failed: 'failed', 'max-rounds': 'failed', truncated: 'failed', budget: 'failed' },
}

function seenIn(view: LogView, { from, isCut }: { from: number; isCut: boolean }): Seen {
  const run = view.runs.at(-1)
  const isCurrent = run !== undefined && view.head >= from && view.waiting.length === 0
  if (!isCurrent) return { text: '', results: [], asks: [], end: isCut ? 'cut' : undefined }
  const { rounds, calls, outcome, error } = run
  const approvals = calls.flatMap(({ approvals }) => approvals)
  const asks = outcome === 'suspended' ? approvals.filter(({ decision }) => !decision) : []
  return {
    text: rounds
      .filter(({ retracted }) => !retracted)
      .map(roundText)
      .join(''),
    results: calls.filter(({ result }) => result && !result.isError).map(({ name }) => name),
    asks: asks.map(({ request }) => request.name),
    end: isCut ? 'cut' : asks.length > 0 ? 'waiting' : ends[outcome ?? 'suspended'],
    error: error?.message,
  }
}
