import type {
  Exchange,
  ExchangePage,
  ExchangePageOptions,
  MillraceError,
  ObserveCall,
} from '../../protocol/index.ts'
import { toMillraceError } from '../../protocol/index.ts'
import type { Recording } from './recording.ts'
import { recordCall } from './recording.ts'
import type { ExchangeStore } from './store.ts'

/** Keeps what goes to models and comes back, beside the log. */
export interface ExchangeRecorder {
  /** For whoever works on a thread. */
  open(threadId: string): RecordingSession
  /** Those that are kept, and those that go on in this process, as far as they have come. */
  read(threadId: string, which: ExchangePageOptions): Promise<ExchangePage>
  /** All of a thread; what it still does is not recorded any more. */
  delete(threadId: string): Promise<void>
  /** Resolves when what is being written now is. */
  settled(): Promise<void>
}

interface RecordingSession {
  readonly observe: ObserveCall
  close(): void
}

export interface ExchangeRecorderOptions {
  readonly store: ExchangeStore
  readonly onError: (error: MillraceError) => void
}

interface Session {
  /** Those that are not kept yet. */
  readonly open: Set<Recording>
  isClosed: boolean
  /** The thread is gone. */
  isDeleted: boolean
}

export function exchangeRecorder({ store, onError }: ExchangeRecorderOptions): ExchangeRecorder {
  const sessions = new Map<string, Set<Session>>()
  const writing = new Set<Promise<void>>()

  function begin(threadId: string): Session {
    const session: Session = { open: new Set(), isClosed: false, isDeleted: false }
    const others = sessions.get(threadId)
    if (others) others.add(session)
    else sessions.set(threadId, new Set([session]))
    return session
  }

  function forgetWhenDone(threadId: string, session: Session) {
    if (!session.isClosed || session.open.size > 0) return
    const all = sessions.get(threadId)
    all?.delete(session)
    if (all?.size === 0) sessions.delete(threadId)
  }

  /** Writes a call one time after the other: what comes late replaces what was there. */
  function keeper(threadId: string, session: Session, recording: () => Recording) {
    let isWriting = false
    let again = false

    async function write() {
      isWriting = true
      do {
        again = false
        try {
          if (!session.isDeleted) await store.put(threadId, recording().snapshot())
        } catch (thrown) {
          onError(toMillraceError(thrown, { op: 'exchanges.put', code: 'store_error' }))
        }
      } while (again)
      isWriting = false
      session.open.delete(recording())
      forgetWhenDone(threadId, session)
    }

    return () => {
      again = isWriting
      if (isWriting) return
      const written = write().finally(() => writing.delete(written))
      writing.add(written)
    }
  }

  /** Those that go on here, and those of the run that are kept, by round. */
  async function readPage(
    threadId: string,
    { run, round, after = 0, bytes = Number.POSITIVE_INFINITY }: ExchangePageOptions,
  ): Promise<ExchangePage> {
    const current = [...(sessions.get(threadId) ?? [])]
      .flatMap(({ open }) => [...open].map((recording) => recording.snapshot()))
      .filter(({ runId }) => runId === run)
    const known = [...(await store.rounds(threadId, run)), ...current.map((one) => one.round)]
    const rounds = [...new Set(known)].filter((one) => one > after && (round ?? one) === one)
    const exchanges: Exchange[] = []
    let left = bytes
    for (const number of rounds.sort((one, other) => one - other)) {
      const found = await readRound(threadId, run, number, current)
      left -= JSON.stringify(found).length
      const last = exchanges.at(-1)
      if (left < 0 && last) return { exchanges, next: last.round }
      exchanges.push(...found)
    }
    return { exchanges }
  }

  async function readRound(threadId: string, run: string, round: number, current: readonly Exchange[]) {
    const ours = current.filter((one) => one.round === round)
    const kept = await store.read(threadId, run, round)
    const others = kept.filter(({ attempt }) => !ours.some((one) => one.attempt === attempt))
    return [...others, ...ours].sort((one, other) => one.attempt - other.attempt)
  }

  async function settled(): Promise<void> {
    await Promise.all(writing)
  }

  return {
    settled,
    open(threadId) {
      const session = begin(threadId)
      return {
        observe(call) {
          const recording: Recording = recordCall(
            call,
            keeper(threadId, session, () => recording),
          )
          session.open.add(recording)
          return recording.observer
        },
        close() {
          session.isClosed = true
          forgetWhenDone(threadId, session)
        },
      }
    },
    async read(threadId, which) {
      try {
        return await readPage(threadId, which)
      } catch (thrown) {
        throw toMillraceError(thrown, { op: 'thread.exchanges', code: 'store_error' })
      }
    },
    async delete(threadId) {
      for (const session of sessions.get(threadId) ?? []) session.isDeleted = true
      // What is on its way there must not come after.
      await settled()
      try {
        await store.delete(threadId)
      } catch (thrown) {
        throw toMillraceError(thrown, { op: 'thread.delete', code: 'store_error' })
      }
    },
  }
}
