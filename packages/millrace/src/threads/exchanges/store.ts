import type { Exchange } from '../../protocol/index.ts'

/** Where the requests of models and their answers are kept. What fails rejects; the app's `onError` is told, and no run is the worse for it. */
export interface ExchangeStore {
  /** The same run, round and attempt again replaces what was there. */
  put(threadId: string, exchange: Exchange): void | Promise<void>
  /** The rounds of a run of which something is kept, in any order. */
  rounds(threadId: string, runId: string): Promise<readonly number[]>
  /** Those of a run, in any order; those of one round if it is given. */
  read(threadId: string, runId: string, round?: number): Promise<readonly Exchange[]>
  /** All of a thread. */
  delete(threadId: string): Promise<void>
}
