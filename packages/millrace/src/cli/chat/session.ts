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
import type { Front, Status } from './front.ts'
import { readReply } from './reply.ts'

/** One conversation at a time, in front of a person: follows its log, and says what they say. */
export interface Session {
  readonly app: App
  readonly thread: Thread
  /** Whether anything was said in it yet: a thread is made by its first message. */
  readonly exists: boolean
  readonly state: ThreadState
  /** What people said in it, in order. */
  readonly said: readonly Said[]
  /** Takes up a conversation, or begins one. */
  open(thread?: Thread): Promise<void>
  say(text: string): Promise<void>
  stop(): Promise<void>
  /** Lets go of the thread; what is under way there goes on without us. */
  close(): void
}

interface Said {
  readonly seq: number
  readonly text: string
}

export interface SessionOptions {
  readonly app: App
  readonly newThread: () => Thread
  readonly front: () => Front
  /** There is nothing to be done any more: the app was closed, or the log cannot be read. */
  readonly onEnd: (error?: unknown) => void
}

/** So many of the last messages are shown of a conversation that is taken up. */
const mostRecalled = 10

export function openSession({ app, newThread, front, onEnd }: SessionOptions): Session {
  let thread = newThread()
  let state = emptyThread()
  let said: Said[] = []
  let following: AbortController | undefined
  let stopping = false

  function take(entry: Entry) {
    applyEntry(state, entry)
    const { event, seq } = entry
    if (event.type === 'input' && event.mode !== 'correct') said.push({ seq, text: textOf(event.message) })
    // A run that waits for a person ends once more, when it is stopped.
    if (event.type === 'run-end' && event.outcome !== 'suspended') stopping = false
  }

  function status(): Status {
    const busy = state.run !== undefined && isOpen(state.run)
    return {
      busy,
      stopping: stopping && busy,
      waiting: state.waiting.map(({ message, held }) => ({ text: textOf(message), held })),
      question: question(),
    }
  }

  function question(): ApprovalRequestEvent | undefined {
    return stopping ? undefined : approvalsOf(state)[0]
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
          front().tell(entry)
          front().update(status())
        }
        if (!signal.aborted) await ended()
      } catch (error) {
        if (!signal.aborted) onEnd(error)
      }
    })()
  }

  /** Nobody stopped following, and yet it is over: the thread is gone, or the app. */
  async function ended() {
    try {
      await thread.info()
      onEnd()
    } catch (error) {
      if (!isNotFound(error)) return onEnd()
      front().note('this thread was deleted; a new one begins', 'problem')
      await open()
    }
  }

  async function open(next?: Thread) {
    following?.abort()
    following = undefined
    thread = next ?? newThread()
    state = emptyThread()
    said = []
    stopping = false
    front().begin()
    if (next && (await exists(next))) await recall(next)
    front().update(status())
  }

  /** Reads what was said so far; only the last of it is kept to be shown. */
  async function recall(taken: Thread) {
    const { head } = await taken.info()
    let entries: Entry[] = []
    let dropped = false
    while (state.head < head) {
      const page = await taken.read({ after: state.head })
      if (page.length === 0 || taken !== thread) break
      for (const entry of page) {
        take(entry)
        entries.push(entry)
      }
      const first = said.at(-mostRecalled)?.seq ?? 0
      const kept = entries.filter(({ seq }) => seq >= first)
      dropped ||= kept.length < entries.length
      entries = kept
    }
    if (taken !== thread) return
    front().recall(entries, dropped)
    follow()
  }

  async function say(text: string) {
    if (question()) return answer(text)
    const known = state.head
    const seq = await thread.send(text, { key: crypto.randomUUID() }).catch((error: unknown) => {
      front().suggest(text)
      throw error
    })
    if (!following) follow()
    // It was deleted meanwhile, and has been made anew by this.
    else if (seq <= known) await open(thread)
  }

  async function answer(text: string) {
    const asked = question()
    if (!asked) return
    const reply = readReply(text, asked)
    switch (reply.type) {
      case 'unclear':
        front().note(reply.message, 'problem')
        return front().suggest(text)
      case 'edit':
        return front().suggest(`e ${JSON.stringify(asked.input, undefined, 2)}`)
      case 'approve':
        await decide(asked, text, {
          approved: true,
          ...(reply.input && { input: reply.input }),
          ...(reply.remember && { remember: reply.remember }),
        })
        return
      case 'decline':
        await decide(asked, text, {
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
      // An input that does not fit can be mended; a decision that came too late cannot.
      if (isMillraceError(error) && error.code === 'invalid_input') front().suggest(text)
      throw error
    }
  }

  async function stop() {
    if (!following || stopping || !status().busy) return
    stopping = true
    front().update(status())
    try {
      await thread.stop()
    } catch (error) {
      stopping = false
      front().update(status())
      throw error
    }
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
    get said() {
      return said
    },
    open,
    say,
    stop,
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
