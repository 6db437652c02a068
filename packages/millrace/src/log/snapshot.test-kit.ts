import { expect } from 'vitest'
import type { Entry, ThreadState } from '../protocol/index.ts'
import {
  answerKey,
  applyEntry,
  approvalsOf,
  dropForgotten,
  emptyThread,
  isOpen,
  messagesOf,
  nextThreadAction,
  transcriptOf,
  turnStart,
  usageOf,
} from '../protocol/index.ts'
import type { Lease, ThreadStore } from '../threads/index.ts'
import { memoryStore } from '../threads/index.ts'
import { saveSnapshot } from './save-snapshot.ts'
import type { Snapshot, SnapshotSource } from './snapshot.ts'
import { fromSnapshot, restore } from './snapshot.ts'

export function fold(entries: readonly Entry[], state = emptyThread()): ThreadState {
  for (const entry of entries) applyEntry(state, entry)
  return state
}

/** How much of each answer was played, by run and round. */
export function playedIn(entries: readonly Entry[]): Map<string, number> {
  const played = new Map<string, number>()
  for (const { event } of entries)
    if (event.type === 'playback') played.set(answerKey(event.run, event.round), event.chars)
  return played
}

/** How many messages these entries keep of those before them. */
export function keptIn(entries: readonly Entry[]): number {
  const keeps = entries.flatMap(({ event }) => (event.type === 'rewind' ? (event.keep ?? []) : []))
  return Math.min(Number.POSITIVE_INFINITY, ...keeps)
}

export async function stored(entries: readonly Entry[]): Promise<{ store: ThreadStore; lease: Lease }> {
  const store = memoryStore()
  await store.create({ id: 't', agent: 'a' }, { entries })
  const claim = await store.claim('t', 'worker', 10_000)
  return { store, lease: claim?.lease as Lease }
}

/** Everything that a worker can see of a thread. */
export function visibleState(state: ThreadState) {
  const { run, decisions, earlierUsage, ...thread } = state
  const transcript = run ? transcriptOf(run) : []
  return {
    ...thread,
    decisions: [...decisions],
    action: nextThreadAction(state),
    approvals: approvalsOf(state),
    usage: usageOf(state),
    messages: run && messagesOf(run),
    turn: transcript.slice(turnStart(transcript)),
    run: run && {
      callIds: [...run.callIds],
      granted: run.granted,
      summaries: run.summaries,
      contextTokens: run.contextTokens,
      outcome: run.outcome,
      id: run.runId,
      origin: run.originId,
      trace: run.trace,
      // The round of an ended run has become part of the history, or will.
      ...(isOpen(run) && {
        round: run.round,
        phase: run.phase,
        calls: [...run.calls],
        inputs: run.inputs,
        toolRounds: run.toolRounds,
        corrections: run.corrections,
        text: run.draft.text,
        finish: run.finish,
      }),
    },
  }
}

/**
 * Workers fold a log in turn, each from the snapshot of the previous one, and save it if possible.
 */
export async function foldInTurns(
  entries: readonly Entry[],
  turns: readonly Turn[],
  writes = Number.POSITIVE_INFINITY,
) {
  const { store: whole, lease } = await stored(entries)
  let written = 0
  const store: ThreadStore = {
    ...whole,
    saveSnapshot: async (...save) => (++written > writes ? 'fenced' : whole.saveSnapshot(...save)),
  }
  const log = { store, threadId: 't' }
  const played = new Map<string, number>()
  let state = emptyThread()
  let last: Snapshot | undefined
  let keep = Number.POSITIVE_INFINITY
  for (const { to, isOther } of turns) {
    if (isOther) {
      state = last ? ((await restore(log, last)) as ThreadState) : emptyThread()
      played.clear()
      keep = Number.POSITIVE_INFINITY
    }
    const more = entries.slice(state.head, Math.max(state.head, to))
    for (const [key, chars] of playedIn(more)) played.set(key, chars)
    keep = Math.min(keep, keptIn(more))
    fold(more, state)
    const saved = await saveSnapshot(state, { store, lease, last, keep, played, partChars: 500 })
    if (saved === 'fenced') break
    if (saved === last || !saved) continue
    last = saved
    keep = Number.POSITIVE_INFINITY
    played.clear()
    if (state.run) dropForgotten(state.run, last.needed)
  }
  return { store, lease, log, last }
}

function lastSnapshot(source: SnapshotSource): Promise<Snapshot | undefined> {
  return fromSnapshot(source, async (snapshot) => snapshot)
}

export interface Turn {
  /** The length of the log in this turn. */
  readonly to: number
  /** Whether another process takes over, which knows only what was saved. */
  readonly isOther: boolean
}

/**
 * Checks that continuing from the snapshots saved in these turns gives the same thread as the whole
 * log. The entries must not be joined.
 */
export async function checkSnapshots(entries: readonly Entry[], turns: readonly Turn[]): Promise<void> {
  const { log, last } = await foldInTurns(entries, turns)
  const snapshot = await lastSnapshot(log)
  expect(snapshot).toEqual(last && JSON.parse(JSON.stringify(last)))
  if (!snapshot) return
  const restored = (await restore(log, snapshot)) as ThreadState
  expect(visibleState(fold(entries.slice(snapshot.thread.head), restored))).toEqual(
    visibleState(fold(entries)),
  )
}
