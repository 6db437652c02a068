import type { Entry, Message, RunRequest } from '../protocol/index.ts'
import { applyEntry, emptyThread, nextRequestOf, promptOf } from '../protocol/index.ts'

/** What a model read in a round. */
export interface RoundInput {
  /** Without the system prompt of the agent. */
  readonly messages: readonly Message[]
  /** What the sender of the last message added to it. */
  readonly request?: RunRequest | undefined
}

/**
 * What the model read in the round that starts at the entry with this number. The entries are those
 * of a thread from its first one on. Folds all entries before the round, so call it on demand.
 */
export function roundInput(entries: readonly Entry[], seq: number): RoundInput {
  const state = emptyThread()
  for (const entry of entries) {
    if (entry.seq >= seq) break
    applyEntry(state, entry)
  }
  return { messages: promptOf(state), request: nextRequestOf(state) }
}
