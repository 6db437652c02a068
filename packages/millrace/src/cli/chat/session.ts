import type { ApprovalRequestEvent, Entry, ThreadState } from '../../protocol/index.ts'
import {
  applyEntry,
  approvalsOf,
  emptyThread,
  isMillraceError,
  isOpen,
  textOf,
} from '../../protocol/index.ts'
import type { App, Thread } from '../../threads/index.ts'
import type { Change } from '../../view/index.ts'
import { applyEntry as applyToView, createView } from '../../view/index.ts'
import { currentParts, partOf } from '../current-parts.ts'
import { readReply } from './approval-reply.ts'
import type { ChatUi, Status } from './ui.ts'

/** The thread that the chat shows: follows its log and sends the user's messages. */
export interface Session {
  readonly app: App
  readonly thread: Thread
  /** Whether the thread exists: its first message creates it. */
  readonly exists: boolean
  readonly state: ThreadState
  /** The messages of users, in order. */
  readonly sent: readonly SentMessage[]
  /** Opens a thread, or a new one. */
  open(thread?: Thread): Promise<void>
  send(text: string): Promise<void>
  stop(): Promise<void>
  /** Gives the result of the first call that waits for one. Resolves with false if none does. */
  respond(output: unknown): Promise<boolean>
  /** Continues the conversation as it was before an entry. */
  rewind(before: number): Promise<void>
  /** Answers the last message again. Resolves with false if there is no answer. */
  retry(): Promise<boolean>
  /** Restores what the last rewind replaced. Resolves with false if there was none. */
  undo(): Promise<boolean>
  /** Stops following the thread. Its run continues. */
  close(): void
}

interface SentMessage {
  readonly seq: number
  readonly text: string
}

export interface SessionOptions {
  readonly app: App
  readonly newThread: () => Thread
  readonly ui: () => ChatUi
  /** Called when the app is closed, or with the error if the log cannot be read. */
  readonly onEnd: (error?: unknown) => void
}

/** How many of the last messages are shown when a thread is opened. */
const maxRecalled = 10

export function openSession({ app, newThread, ui, onEnd }: SessionOptions): Session {
  let thread = newThread()
  let state = emptyThread()
  let view = createView()
  /** The numbers of the rewinds. */
  let rewinds: number[] = []
  let following: AbortController | undefined
  let stopping = false

  function take(entry: Entry): Change {
    applyEntry(state, entry)
    const { event, seq } = entry
    if (event.type === 'rewind') rewinds.push(seq)
    // A suspended run ends a second time when it is stopped.
    if (event.type === 'run-end' && event.outcome !== 'suspended') stopping = false
    return applyToView(view, entry)
  }

  function sent(): SentMessage[] {
    return [...view.rows, ...view.waiting].flatMap((row) =>
      row.kind === 'input' ? [{ seq: row.seq, text: textOf(row.message) }] : [],
    )
  }

  function status(): Status {
    const busy = state.run !== undefined && isOpen(state.run)
    return {
      busy,
      stopping: stopping && busy,
      queued: state.waiting.flatMap(({ message, held, discarded }) =>
        message && !discarded ? [{ text: textOf(message), held }] : [],
      ),
      approval: pendingApproval(),
      unanswered: stopping ? undefined : unanswered(),
    }
  }

  function pendingApproval(): ApprovalRequestEvent | undefined {
    return stopping ? undefined : approvalsOf(state).find(({ wants }) => !wants)
  }

  function unanswered(): ApprovalRequestEvent | undefined {
    return approvalsOf(state).find(({ wants }) => wants)
  }

  function follow() {
    const own = new AbortController()
    following = own
    void (async () => {
      const { signal } = own
      try {
        for await (const entry of thread.follow({ after: state.head, signal })) {
          if (signal.aborted) return
          take(entry)
          // Shows what is restored again.
          if (entry.event.type === 'rewind' && rewinds.includes(entry.event.before)) return await open(thread)
          ui().show(entry)
          ui().update(status())
        }
        if (!signal.aborted) await ended()
      } catch (error) {
        if (!signal.aborted) onEnd(error)
      }
    })()
  }

  /** Following ended on its own: the thread was deleted, or the app was closed. */
  async function ended() {
    try {
      await thread.info()
      onEnd()
    } catch (error) {
      if (!isNotFound(error)) return onEnd()
      ui().note('this thread was deleted; starting a new one', 'problem')
      await open()
    }
  }

  async function open(next?: Thread) {
    following?.abort()
    following = undefined
    thread = next ?? newThread()
    state = emptyThread()
    view = createView()
    rewinds = []
    stopping = false
    ui().startThread()
    if (next && (await exists(next))) await recall(next)
    ui().update(status())
  }

  /** Folds the whole log, and shows only its last messages. */
  async function recall(opened: Thread) {
    const { head } = await opened.info()
    let changes: Change[] = []
    let dropped = false
    while (state.head < head) {
      const page = await opened.read({ after: state.head })
      if (page.length === 0 || opened !== thread) break
      for (const entry of page) changes.push(take(entry))
      const first = sent().at(-maxRecalled)?.seq ?? 0
      const kept = changes.filter(({ entry }) => entry.seq >= first)
      dropped ||= kept.length < changes.length
      changes = kept
    }
    if (opened !== thread) return
    ui().showEarlier(currentEntries(changes), dropped)
    follow()
  }

  /** Without what rewinds have replaced. */
  function currentEntries(changes: readonly Change[]): Entry[] {
    const parts = rewinds.length > 0 ? currentParts(view) : undefined
    const isCurrent = (change: Change) => !parts || parts.has(partOf(change) ?? 0)
    return changes.filter(isCurrent).map(({ entry }) => entry)
  }

  async function send(text: string) {
    if (pendingApproval()) return answerApproval(text)
    const known = state.head
    const seq = await thread.send(text, { key: crypto.randomUUID() }).catch((error: unknown) => {
      ui().suggest(text)
      throw error
    })
    if (!following) follow()
    // The thread was deleted in the meantime, and this message created it again.
    else if (seq <= known) await open(thread)
  }

  async function answerApproval(text: string) {
    const request = pendingApproval()
    if (!request) return
    const reply = readReply(text, request)
    switch (reply.type) {
      case 'unclear':
        ui().note(reply.message, 'problem')
        return ui().suggest(text)
      case 'edit':
        return ui().suggest(`e ${JSON.stringify(request.input, undefined, 2)}`)
      case 'approve':
        await decide(request, text, {
          approved: true,
          ...(reply.input && { input: reply.input }),
          ...(reply.remember && { remember: reply.remember }),
        })
        return
      case 'deny':
        await decide(request, text, {
          approved: false,
          ...(reply.reason !== undefined && { reason: reply.reason }),
        })
    }
  }

  async function decide(
    { callId }: ApprovalRequestEvent,
    text: string,
    answer: Parameters<Thread['approve']>[1],
  ) {
    try {
      await thread.approve(callId, answer)
    } catch (error) {
      // Invalid arguments can be edited; a decision that came too late cannot.
      if (isMillraceError(error) && error.code === 'invalid_input') ui().suggest(text)
      throw error
    }
  }

  async function stop() {
    if (!following || stopping || !status().busy) return
    stopping = true
    ui().update(status())
    try {
      await thread.stop()
    } catch (error) {
      stopping = false
      ui().update(status())
      throw error
    }
  }

  async function respond(output: unknown) {
    const request = unanswered()
    if (request) await thread.respond(request.callId, output)
    return request !== undefined
  }

  async function rewind(before: number) {
    await thread.rewind(before, { key: crypto.randomUUID() })
  }

  async function retry() {
    const last = view.rows.findLast((row) => 'round' in row || row.kind === 'end')
    const run = last && ('round' in last ? last.round.run : last.kind === 'end' ? last.run : undefined)
    if (run) await rewind(run.seq)
    return run !== undefined
  }

  async function undo() {
    const last = rewinds.at(-1)
    if (last !== undefined) await rewind(last)
    return last !== undefined
  }

  return {
    app,
    get thread() {
      return thread
    },
    get exists() {
      return following !== undefined
    },
    get state() {
      return state
    },
    get sent() {
      return sent()
    },
    open,
    send,
    stop,
    respond,
    rewind,
    retry,
    undo,
    close: () => following?.abort(),
  }
}

async function exists(thread: Thread): Promise<boolean> {
  try {
    await thread.info()
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

function isNotFound(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'not_found'
}
