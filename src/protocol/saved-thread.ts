import type { Message } from './messages.ts'
import type { RunState } from './run-state.ts'
import { closeRun, emptyState, transcriptLength, transcriptOf, turnStart } from './run-state.ts'
import type { ThreadState } from './thread-state.ts'
import { emptyThread, isOpen } from './thread-state.ts'

/** Of what a fold keeps. A state that was saved by another version is not used. */
export const foldVersion = 1

/** A folded thread between two runs as JSON, without its transcript, call ids and decisions: those only grow, and are kept apart. */
export interface SavedThread {
  readonly version: number
  readonly thread: Omit<ThreadState, 'run' | 'decisions'>
  readonly run: Omit<RunState, 'history' | 'forgotten' | 'answers' | 'callIds' | RoundField>
  /** The messages at the front of the history that stand for forgotten ones. */
  readonly front: readonly Message[]
  /** How many messages the transcript has. */
  readonly messages: number
  /** How many of them only the summary stands for. */
  readonly forgotten: number
  /** The first one that is needed to go on: the model reads it, or the turn begins there that is not answered yet. */
  readonly needed: number
  readonly callIds: number
  readonly decisions: number
}

/** What a run that is over has no use for. */
type RoundField = 'inputs' | 'phase' | 'draft' | 'heardChars' | 'openInputs' | 'calls' | 'checkpoint'

/** A message of the transcript, with its run and round if it is an answer. */
export interface SavedMessage {
  readonly message: Message
  readonly key?: string | undefined
}

/** Undefined while a run is under way, waits for a person, or has not begun. */
export function saveThread(state: ThreadState): SavedThread | undefined {
  const { run, decisions, ...thread } = state
  if (!run || isOpen(run)) return undefined
  closeRun(run)
  const { history, forgotten, answers, callIds, ...rest } = run
  const { inputs, phase, draft, heardChars, openInputs, calls, checkpoint, ...kept } = rest
  const forgottenUpTo = run.dropped + forgotten.length
  return {
    version: foldVersion,
    // Copies: the state goes on while it is being written.
    thread: { ...thread, waiting: thread.waiting.map((input) => ({ ...input })) },
    run: { ...kept, granted: [...kept.granted] },
    front: history.slice(0, run.summaries),
    messages: transcriptLength(run),
    forgotten: forgottenUpTo,
    needed: Math.min(forgottenUpTo, run.dropped + turnStart(transcriptOf(run))),
    callIds: callIds.size,
    decisions: decisions.size,
  }
}

/** The messages of a transcript from one of them on, as they are saved. */
export function* savedMessages({ run }: ThreadState, from: number): Generator<SavedMessage> {
  if (!run) return
  const { dropped, forgotten, history, summaries } = run
  const keys = new Map<number, string>()
  for (const [key, at] of run.answers) if (at >= from) keys.set(at, key)
  for (let at = from; at < transcriptLength(run); at++) {
    const index = at - dropped
    const message =
      index < forgotten.length ? forgotten[index] : history[index - forgotten.length + summaries]
    yield { message: message as Message, key: keys.get(at) }
  }
}

/** The state again, for going on. `messages` are those from `needed` on. */
export function restoreThread(
  saved: SavedThread,
  kept: {
    readonly messages: readonly SavedMessage[]
    readonly callIds: Set<string>
    readonly decisions: Map<string, number>
  },
): ThreadState {
  const { front, forgotten, needed } = saved
  const messages = kept.messages.map(({ message }) => message)
  const answers = new Map<string, number>()
  for (const [index, { key }] of kept.messages.entries())
    if (key !== undefined) answers.set(key, needed + index)
  return {
    ...restoreOutline(saved),
    decisions: kept.decisions,
    run: {
      ...emptyState(),
      ...saved.run,
      granted: [...saved.run.granted],
      forgotten: messages.slice(0, forgotten - needed),
      history: [...front, ...messages.slice(forgotten - needed)],
      dropped: needed,
      answers,
      callIds: kept.callIds,
    },
  }
}

/** The state without any message: as if the whole transcript had been dropped. */
export function restoreOutline({ thread, run, messages }: SavedThread): ThreadState {
  const waiting = thread.waiting.map((input) => ({ ...input }))
  return {
    ...emptyThread(),
    ...thread,
    waiting,
    run: { ...emptyState(), ...run, granted: [...run.granted], summaries: 0, dropped: messages },
  }
}

/** Lets go of forgotten messages before a place in the transcript. */
export function dropForgotten(run: RunState, before: number): void {
  const count = Math.min(run.forgotten.length, before - run.dropped)
  if (count <= 0) return
  run.forgotten.splice(0, count)
  run.dropped += count
}
