import type { Exchange } from '../../protocol/index.ts'

/**
 * Stores model requests and responses. Failures reject; they are reported to the app's `onError`
 * and never affect a run.
 */
export interface ExchangeStore {
  /** Stores an exchange. One with the same run, round and attempt is replaced. */
  put(threadId: string, exchange: Exchange): void | Promise<void>
  /** The rounds of a run that have stored exchanges, in any order. */
  rounds(threadId: string, runId: string): Promise<readonly number[]>
  /** The exchanges of a run, or of one round, in any order. */
  read(threadId: string, runId: string, round?: number): Promise<readonly Exchange[]>
  /** Deletes all exchanges of a thread. */
  delete(threadId: string): Promise<void>
}
