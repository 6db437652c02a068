import { assistantDraft } from './draft.ts'
import type { AssistantMessage, Message } from './messages.ts'
import type { CallState, RunState } from './run-state.ts'
import { closeRun, emptyState, transcriptLength, turnStart } from './run-state.ts'
import type { ThreadState } from './thread-state.ts'
import { emptyThread, isOpen } from './thread-state.ts'

/**
 * The format version of saved states. A state of another version is ignored, and the log is folded
 * again.
 */
export const foldVersion = 5

/**
 * A folded thread as JSON, without transcript, call ids and decisions: those only grow, and are
 * stored separately.
 */
export interface SavedThread {
  readonly version: number
  readonly thread: Omit<ThreadState, 'run' | 'decisions'>
  readonly run: Omit<RunState, 'history' | 'forgotten' | 'answers' | 'callIds' | RoundField>
  /** The current round of an open run: its text is complete, its calls may be running. */
  readonly round?: { readonly draft?: AssistantMessage | undefined; readonly calls: readonly SavedCall[] }
  /** The messages at the front of the history that replace forgotten ones. */
  readonly front: readonly Message[]
  /** How many messages the transcript has before the current round. */
  readonly messages: number
  /** How many of them are replaced by the summary. */
  readonly forgotten: number
  /**
   * The first one needed to continue: the start of the turn in which the summary ends, or ended
   * before this run. A rewind may make it the current turn again.
   */
  readonly needed: number
  readonly callIds: number
  readonly decisions: number
}

/**
 * Fields that are not JSON. A round whose text is complete has neither open inputs nor a
 * checkpoint.
 */
type RoundField = 'draft' | 'calls' | 'openInputs' | 'checkpoint'

interface SavedCall extends Omit<CallState, 'requests' | 'decisions'> {
  readonly requests: readonly NonNullable<ReturnType<CallState['requests']['get']>>[]
  readonly decisions: readonly NonNullable<ReturnType<CallState['decisions']['get']>>[]
}

/** A message of the transcript. `key` names its run and round if it is an answer. */
export interface SavedMessage {
  readonly message: Message
  readonly key?: string | undefined
}

/**
 * Shares no mutable data with the state. Undefined before the first run and while a model
 * generates.
 */
export function saveThread(state: ThreadState): SavedThread | undefined {
  const { run, decisions, ...thread } = state
  if (!run) return undefined
  if (!isOpen(run)) closeRun(run)
  else if (run.phase === 'generating') return undefined
  const { history, forgotten, answers, callIds, draft, calls, openInputs, checkpoint, ...kept } = run
  const forgottenUpTo = run.dropped + forgotten.length
  return {
    version: foldVersion,
    ...structuredClone({
      thread,
      // Only an open run needs its recent results.
      run: isOpen(run) ? kept : { ...kept, recent: [] },
      ...(isOpen(run) && { round: { draft: draft.message(), calls: [...calls.values()].map(saveCall) } }),
    }),
    front: history.slice(0, run.summaries),
    messages: transcriptLength(run),
    forgotten: forgottenUpTo,
    needed:
      run.dropped + turnStart(forgotten.slice(0, (run.unsummarized?.count ?? forgottenUpTo) - run.dropped)),
    callIds: callIds.size,
    decisions: decisions.size,
  }
}

function saveCall({ requests, decisions, ...call }: CallState): SavedCall {
  return { ...call, requests: [...requests.values()], decisions: [...decisions.values()] }
}

function restoreCall({ requests, decisions, ...call }: SavedCall): [string, CallState] {
  const byId = <Event extends { readonly callId: string }>(events: readonly Event[]) =>
    new Map(events.map((event) => [event.callId, event]))
  return [call.call.callId, { ...call, requests: byId(requests), decisions: byId(decisions) }]
}

/** The messages of a transcript from index `from` on, in saved form. */
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

/** Restores a state to continue from. `messages` are those from `needed` on. */
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
  const outline = restoreWithoutMessages(saved)
  return {
    ...outline,
    decisions: kept.decisions,
    run: {
      ...(outline.run as RunState),
      forgotten: messages.slice(0, forgotten - needed),
      history: [...front, ...messages.slice(forgotten - needed)],
      summaries: saved.run.summaries,
      unsummarized: saved.run.unsummarized,
      dropped: needed,
      answers,
      callIds: kept.callIds,
    },
  }
}

/** The state without messages, as if the whole transcript had been dropped. */
export function restoreWithoutMessages(saved: SavedThread): ThreadState {
  const { thread, run, round } = structuredClone({ thread: saved.thread, run: saved.run, round: saved.round })
  return {
    ...emptyThread(),
    ...thread,
    run: {
      ...emptyState(),
      ...run,
      draft: assistantDraft(round?.draft?.content),
      calls: new Map(round?.calls.map(restoreCall)),
      summaries: 0,
      unsummarized: undefined,
      dropped: saved.messages,
    },
  }
}

/** Drops forgotten messages before an index of the transcript. */
export function dropForgotten(run: RunState, before: number): void {
  const count = Math.min(run.forgotten.length, before - run.dropped)
  if (count <= 0) return
  run.forgotten.splice(0, count)
  run.dropped += count
}
