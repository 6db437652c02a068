import type { Entry, Outcome, Thread, ThreadEvent } from 'millrace'
import type { RunStartEvent, VoicePosition } from 'millrace/internal'
import { findLast, isNewRun } from 'millrace/internal'
import type { Sentence, SentenceOptions } from '../sentences/sentence.ts'
import { sentences } from '../sentences/splitter.ts'
import type { Utterance } from './segment.ts'

/** A position in the text of a round. */
export interface TextPosition {
  readonly round: number
  readonly chars: number
}

/** A run, as far as the log has been read. */
export interface SpokenRun {
  readonly id: string
  /** The number of its `run-start` entry. */
  readonly seq: number
  /** The numbers of the inputs it answers. */
  readonly inputs: readonly number[]
  /** The client reconnected during this run. */
  readonly isResumed: boolean
  /** When its start and its first text were read. */
  readonly startedAt: number
  firstTextAt: number | undefined
  /** The text length of each round so far. */
  readonly rounds: Map<number, number>
  /** The round being generated, or 0. */
  round: number
  /** Text up to here is not spoken: the user has already read or heard it. */
  known: TextPosition | undefined
  isOpen: boolean
}

/** What to do for an entry of the log. */
export type ReadingStep =
  | { readonly type: 'run'; readonly run: SpokenRun }
  | { readonly type: 'utterance'; readonly utterance: Utterance }
  /** This round is the first to answer messages sent during the run. */
  | { readonly type: 'inputs'; readonly round: number }
  | { readonly type: 'retract'; readonly round: number }
  | { readonly type: 'round-end' }
  /** The number of running tool calls changed. */
  | { readonly type: 'calls'; readonly running: number; readonly name: string }
  /** A user asked to stop or interrupt the run. */
  | { readonly type: 'interrupt' }
  | { readonly type: 'run-end'; readonly outcome: Outcome }

export interface ReadingOptions {
  readonly sentenceOptions: SentenceOptions
  /** Entries up to this number are already displayed and are not spoken. */
  readonly shownUpTo: number
  /** Where playback stopped before a reconnect. */
  readonly from?: VoicePosition | undefined
}

/**
 * A fold of the log, from the start of a run. It splits text into sentences, the same ones however
 * deltas are joined.
 */
export interface Reading {
  /** The number of the last entry. */
  readonly head: number
  take(entry: Entry, now: number): ReadingStep[]
}

/** Events that complete a sentence. It is spoken at once, since a tool call may take long. */
const endOfText: ReadonlySet<ThreadEvent['type']> = new Set([
  'part-end',
  'tool-input-start',
  'round-end',
  'run-end',
])

export function reading({ sentenceOptions, shownUpTo, from }: ReadingOptions): Reading {
  let head = 0
  let run: SpokenRun | undefined
  let splitter = sentences(sentenceOptions)
  let waitedFor: Utterance['waitedFor'] = 'model'
  const calls = new Set<string>()

  function startRun({ runId, inputs = [] }: RunStartEvent, now: number): ReadingStep[] {
    waitedFor = 'model'
    calls.clear()
    const known = { id: runId, seq: head, inputs, isResumed: from?.seq === head, startedAt: now }
    run = { ...known, firstTextAt: undefined, rounds: new Map(), round: 0, known: undefined, isOpen: true }
    return [{ type: 'run', run }]
  }

  function startRound({ rounds }: SpokenRun, round: number) {
    splitter = sentences(sentenceOptions)
    rounds.set(round, 0)
  }

  function utterances(run: SpokenRun, found: readonly Sentence[]): ReadingStep[] {
    const { round } = run
    return found.flatMap((sentence): ReadingStep[] => {
      const { start } = sentence
      const end = { round, chars: start + sentence.source.length }
      if (isKnown(run, end)) {
        run.known = end
        return []
      }
      const utterance: Utterance = { sentence, textPosition: { round, start }, waitedFor }
      waitedFor = 'model'
      return [{ type: 'utterance', utterance }]
    })
  }

  function isKnown({ isResumed }: SpokenRun, { round, chars }: TextPosition): boolean {
    if (!isResumed || !from) return head <= shownUpTo
    return round < from.round || (round === from.round && chars <= from.chars)
  }

  function step(run: SpokenRun, event: ThreadEvent, now: number): ReadingStep[] {
    switch (event.type) {
      case 'run-start':
        calls.clear()
        run.isOpen = true
        return []
      case 'round-start':
        run.round = event.round
        startRound(run, event.round)
        return event.inputs?.length ? [{ type: 'inputs', round: event.round }] : []
      case 'text':
        run.firstTextAt ??= now
        run.rounds.set(run.round, (run.rounds.get(run.round) ?? 0) + event.text.length)
        return utterances(run, splitter.push(event.text))
      case 'round-retract':
        startRound(run, event.round)
        if (run.known?.round === event.round) run.known = { round: event.round, chars: 0 }
        return [{ type: 'retract', round: event.round }]
      case 'round-end':
        run.round = 0
        return [{ type: 'round-end' }]
      case 'tool-start':
        calls.add(event.callId)
        return [{ type: 'calls', running: calls.size, name: event.name }]
      case 'tool-result':
        waitedFor = 'tool'
        calls.delete(event.callId)
        return [{ type: 'calls', running: calls.size, name: event.name }]
      case 'run-end':
        run.isOpen = false
        return [{ type: 'run-end', outcome: event.outcome }]
      default:
        return []
    }
  }

  return {
    get head() {
      return head
    },
    take({ seq, event }, now) {
      head = seq
      if (isNewRun(event)) return startRun(event, now)
      if (event.type === 'stop' || (event.type === 'input' && event.mode === 'interrupt'))
        return [{ type: 'interrupt' }]
      if (!run) return []
      const rest = endOfText.has(event.type) ? utterances(run, splitter.flush()) : []
      return [...rest, ...step(run, event, now)]
    },
  }
}

/**
 * Where to start reading so that the run that is open at `upTo` is read completely. Reads
 * backwards, only within that run.
 */
export async function startOfRun(thread: Pick<Thread, 'id' | 'read'>, upTo: number): Promise<number> {
  const log = { threadId: thread.id, store: { read: (_: string, options: object) => thread.read(options) } }
  const isEdge = ({ event }: Entry) =>
    isNewRun(event) || (event.type === 'run-end' && event.outcome !== 'suspended')
  const { seq = 0, event } = (await findLast(log, upTo, isEdge)) ?? {}
  return event?.type === 'run-start' ? seq - 1 : seq
}
