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

/** Records model requests and responses, separately from the log. */
export interface ExchangeRecorder {
  /** Opens a session for the worker of a thread. */
  open(threadId: string): RecordingSession
  /** Returns stored exchanges, and those in progress in this process, as far as they have come. */
  read(threadId: string, which: ExchangePageOptions): Promise<ExchangePage>
  /** Deletes all exchanges of a thread, and stops recording it. */
  delete(threadId: string): Promise<void>
  /** Resolves when current writes are done. */
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
  /** Recordings that are not stored yet. */
  readonly open: Set<Recording>
  isClosed: boolean
  /** The thread was deleted. */
  isDeleted: boolean
}

export function exchangeRecorder({ store, onError }: ExchangeRecorderOptions): ExchangeRecorder {
  const sessions = new Map<string, Set<Session>>()
  const writing = new Set<Promise<void>>()

  function openSession(threadId: string): Session {
    const session: Session = { open: new Set(), isClosed: false, isDeleted: false }
    const others = sessions.get(threadId)
    if (others) others.add(session)
    else sessions.set(threadId, new Set([session]))
    return session
  }

  function removeWhenDone(threadId: string, session: Session) {
    if (!session.isClosed || session.open.size > 0) return
    const all = sessions.get(threadId)
    all?.delete(session)
    if (all?.size === 0) sessions.delete(threadId)
  }

  /**
   * Returns a function that stores a call, one write at a time. A late change replaces what was
   * stored.
   */
  function storeWriter(threadId: string, session: Session, recording: () => Recording) {
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
      removeWhenDone(threadId, session)
    }

    return () => {
      again = isWriting
      if (isWriting) return
      const written = write().finally(() => writing.delete(written))
      writing.add(written)
    }
  }

  /** Merges exchanges in progress here with the stored ones of the run, by round. */
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
    const inProgress = current.filter((one) => one.round === round)
    const stored = await store.read(threadId, run, round)
    const others = stored.filter(({ attempt }) => !inProgress.some((one) => one.attempt === attempt))
    return [...others, ...inProgress].sort((one, other) => one.attempt - other.attempt)
  }

  async function settled(): Promise<void> {
    await Promise.all(writing)
  }

  return {
    settled,
    open(threadId) {
      const session = openSession(threadId)
      return {
        observe(call) {
          const recording: Recording = recordCall(
            call,
            storeWriter(threadId, session, () => recording),
          )
          session.open.add(recording)
          return recording.observer
        },
        close() {
          session.isClosed = true
          removeWhenDone(threadId, session)
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
      // Wait for current writes, so that they do not arrive after the delete.
      await settled()
      try {
        await store.delete(threadId)
      } catch (thrown) {
        throw toMillraceError(thrown, { op: 'thread.delete', code: 'store_error' })
      }
    },
  }
}
