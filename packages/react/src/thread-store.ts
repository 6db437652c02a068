import type { Client, Entry, RemoteThread } from 'millrace/client'
import { client, MillraceError } from 'millrace/client'
import { applyEntry, createView, statusOf } from 'millrace/view'
import { clientTools } from './client-tools.ts'
import { connect } from './connection.ts'
import { messageList } from './message-list.ts'
import type { ThreadMessage, ToolRequest } from './messages.ts'
import { outbox } from './outbox.ts'
import { reuse } from './reuse.ts'
import type { ThreadConnection, ThreadHandle } from './thread-handle.ts'
import type { UseThreadOptions } from './thread-options.ts'
import { requestOf } from './thread-options.ts'
import { oncePerFrame } from './throttle.ts'

/**
 * The state of a thread outside of React. Creating one has no effects: it connects while it has
 * subscribers.
 */
export interface ThreadStore {
  subscribe(this: void, listener: () => void): () => void
  getSnapshot(this: void): ThreadHandle
  /** Whether it is the store for these options. */
  fits(options: UseThreadOptions): boolean
  /** Tools, callbacks and the token may change with each render. */
  update(options: UseThreadOptions): void
}

export function threadStore(initial: UseThreadOptions): ThreadStore {
  let options = initial
  const view = createView()
  const listeners = new Set<() => void>()
  let id = initial.id
  let isLoading = id !== undefined
  let state: ThreadConnection = id === undefined ? 'closed' : 'connecting'
  let error: MillraceError | undefined
  let opening: Promise<RemoteThread> | undefined
  let connection: { close(): void } | undefined
  let closing: ReturnType<typeof setTimeout> | undefined
  /** Called when the connection is open, or closed for good. */
  const onSettled: (() => void)[] = []
  /** What a rewind is about to replace is no longer shown. `until`: the number of the rewind. */
  let hidden: { readonly before: number; until?: number } | undefined

  const { url, id: _, agent, metadata, onCreate, tools, request, token, ...rest } = initial
  const clientOptions = { ...rest, ...(token !== undefined && { token: currentToken }) }
  let made: Client | undefined
  /** Made on demand: on a server that renders the page, a relative URL cannot be resolved. */
  const server = () => (made ??= client(url, clientOptions))

  async function currentToken(): Promise<string> {
    const { token = '' } = options
    return typeof token === 'function' ? token() : token
  }

  const sending = outbox({ open, persist, rewind, onChange: () => changed() })
  const list = messageList(view, sending.keyOf)
  const browserTools = clientTools({ tools: () => options.tools, persist, onError: fail })

  function fail(thrown: unknown) {
    error = thrown as MillraceError
    changed()
  }

  // Snapshots.

  let lastApprovals: readonly ToolRequest[] = []

  function snapshot(): ThreadHandle {
    const drafts = sending.read(view.head)
    const shown = list.read()
    const { before = -1, until = view.head + 1 } = hidden ?? {}
    const cut = until > view.head ? shown.findIndex(({ seq }) => seq === before) : -1
    const messages: readonly ThreadMessage[] = [...(cut < 0 ? shown : shown.slice(0, cut)), ...drafts]
    const status = statusOf(view)
    const isSending = cut >= 0 || drafts.some((draft) => draft.status === 'sending')
    lastApprovals = reuse(lastApprovals, approvalsIn(messages))
    return {
      ...actions,
      id,
      messages,
      status: isLoading ? 'loading' : status === 'idle' && isSending ? 'queued' : status,
      connection: state,
      approvals: lastApprovals,
      error,
    }
  }

  const changed = oncePerFrame(() => {
    current = snapshot()
    for (const listener of listeners) listener()
  })

  // The log.

  function onEntries(entries: readonly Entry[]) {
    isLoading = false
    let isToolDue = entries.length > 1
    for (const entry of entries) {
      const { input, rewound, state: callState, run } = applyEntry(view, entry)
      if (input) sending.onInput(input)
      // Everything else only changes the current run.
      if (rewound || entry.event.type === 'playback') list.reset()
      isToolDue ||= rewound !== undefined || callState !== undefined || run !== undefined
    }
    if (isToolDue) runTools()
    changed()
  }

  function runTools() {
    if (options.tools && id !== undefined) browserTools.update(server().thread(id), view.runs.at(-1))
  }

  // The connection.

  function setState(next: ThreadConnection, problem?: MillraceError) {
    state = next
    if (next === 'closed') {
      isLoading = false
      const message = 'the thread was deleted'
      error = problem ?? new MillraceError({ op: 'useThread', code: 'not_found', message })
    }
    if (next === 'open' || next === 'closed') for (const settle of onSettled.splice(0)) settle()
    changed()
  }

  function start() {
    if (connection || id === undefined || listeners.size === 0) return
    const threadId = id
    error = undefined
    connection = connect({
      thread: (hooks) => client(url, { ...clientOptions, ...hooks }).thread(threadId),
      head: () => view.head,
      onEntries,
      onState: setState,
    })
  }

  function end() {
    connection?.close()
    connection = undefined
    state = 'closed'
    for (const settle of onSettled.splice(0)) settle()
  }

  /** Does a request again if it failed because the connection is lost, once there is one. */
  async function persist<Value>(work: () => Promise<Value>): Promise<Value> {
    for (;;) {
      try {
        return await work()
      } catch (thrown) {
        const isLost = state === 'reconnecting' || state === 'connecting'
        if (!(thrown as MillraceError).retryable || !isLost) throw thrown
        await new Promise<void>((resolve) => void onSettled.push(resolve))
      }
    }
  }

  // Commands.

  async function create(): Promise<RemoteThread> {
    const { agent, metadata } = options
    const thread = await server().create({ agent, metadata })
    id = thread.id
    start()
    options.onCreate?.(id)
    return thread
  }

  function open(): Promise<RemoteThread> {
    opening ??= id === undefined ? create() : Promise.resolve(server().thread(id))
    // The next message tries again.
    opening.catch(() => {
      opening = undefined
    })
    return opening
  }

  /** Runs a command. Its error is shown until the next one. */
  async function act(command: (thread: RemoteThread) => Promise<unknown>): Promise<void> {
    if (id === undefined) return
    error = undefined
    await open().then(command).catch(fail)
  }

  async function rewind(before: number, key?: string): Promise<void> {
    const cut: NonNullable<typeof hidden> = { before }
    hidden = cut
    changed()
    try {
      const thread = await open()
      cut.until = await persist(() => thread.rewind(before, { key, request: requestOf(options) }))
    } catch (thrown) {
      hidden = undefined
      throw thrown
    } finally {
      changed()
    }
  }

  const actions: Omit<ThreadHandle, 'id' | 'messages' | 'status' | 'connection' | 'approvals' | 'error'> = {
    open,
    async send(message, { mode, request } = {}) {
      error = undefined
      await sending.send(message, { mode, request: requestOf(options, request) })
    },
    stop: (reason) => act((thread) => thread.stop(reason)),
    approve: (callId, answer) => act((thread) => thread.approve(callId, { ...answer, approved: true })),
    deny: (callId, reason) => act((thread) => thread.approve(callId, { approved: false, reason })),
    respond: (callId, output, options) => act((thread) => thread.respond(callId, output, options)),
    async retry(message = current.messages.findLast(({ role }) => role === 'assistant')) {
      if (message?.role === 'user') return sending.retry(message)
      if (message) await act(() => rewind(message.seq))
    },
    async edit(message, content) {
      error = undefined
      const { seq } = message
      if (seq === undefined) sending.discard(message)
      else hidden = { before: seq }
      await sending.send(content, { request: requestOf(options) }, seq)
    },
    async selectVersion({ versions }, index) {
      const before = versions?.rewinds[index]
      if (before !== undefined) await act((thread) => thread.rewind(before))
    },
    discard(message) {
      if (hidden?.until === undefined) hidden = undefined
      sending.discard(message)
    },
  }

  let current = snapshot()

  return {
    subscribe(listener) {
      listeners.add(listener)
      clearTimeout(closing)
      start()
      return () => {
        listeners.delete(listener)
        // Not at once: in StrictMode, React unsubscribes and subscribes again.
        if (listeners.size === 0) closing = setTimeout(end)
      }
    },
    getSnapshot: () => current,
    fits: (next) =>
      next.url === url && (next.id === id || (next.id === undefined && options.id === undefined)),
    update(next) {
      const isSignedIn = typeof next.token === 'string' && next.token !== options.token
      options = next
      runTools()
      if (!isSignedIn || state !== 'closed') return
      end()
      start()
    },
  }
}

function approvalsIn(messages: readonly ThreadMessage[]): ToolRequest[] {
  const last = messages.findLast(({ role }) => role === 'assistant')
  const parts = last?.role === 'assistant' ? last.parts : []
  return parts.flatMap((part) => (part.kind === 'call' ? part.requests : [])).filter(({ wants }) => !wants)
}
