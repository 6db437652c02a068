import type { Entry, Outcome, Thread, ThreadEvent } from 'millrace'
import type { RunStartEvent, VoicePlace } from 'millrace/internal'
import { findLast, isNewRun } from 'millrace/internal'
import type { Sentence, SentenceOptions } from '../sentences/sentence.ts'
import { sentences } from '../sentences/splitter.ts'
import type { Utterance } from './segment.ts'

/** So many characters of the text of a round. */
export interface Place {
  readonly round: number
  readonly chars: number
}

/** A run as far as the log has been read. */
export interface SpokenRun {
  readonly id: string
  /** The number of the entry that began it. */
  readonly seq: number
  /** The numbers of the inputs that it answers. */
  readonly inputs: readonly number[]
  /** The client has come back in the middle of it. */
  readonly isBack: boolean
  /** When its beginning and its first text were read. */
  readonly startedAt: number
  firstTextAt: number | undefined
  /** How long the text of each round is so far. */
  readonly rounds: Map<number, number>
  /** The round that is being generated; 0 if there is none. */
  round: number
  /** Nothing is said up to here: the client has read it, or heard it before. */
  known: Place | undefined
  isOpen: boolean
}

/** What a log has for a voice. */
export type ReadingStep =
  | { readonly type: 'run'; readonly run: SpokenRun }
  | { readonly type: 'utterance'; readonly utterance: Utterance }
  /** A round is the first to answer what was sent while its run was under way. */
  | { readonly type: 'inputs'; readonly round: number }
  | { readonly type: 'retract'; readonly round: number }
  | { readonly type: 'round-end' }
  /** So many calls are running. */
  | { readonly type: 'calls'; readonly running: number; readonly name: string }
  /** A user wants the run to end. */
  | { readonly type: 'interrupt' }
  | { readonly type: 'run-end'; readonly outcome: Outcome }

export interface ReadingOptions {
  readonly splitting: SentenceOptions
  /** The client has shown what there is up to this number: nothing of it is said. */
  readonly shownUpTo: number
  /** What it heard before. */
  readonly from?: VoicePlace | undefined
}

/** A fold of a log from the beginning of a run on: it cuts the text of the model into sentences, the same ones however deltas are joined. */
export interface Reading {
  /** The number of the last entry. */
  readonly head: number
  take(entry: Entry, now: number): ReadingStep[]
}

/** What is complete is said at once: how long a call will take is unknown. */
const endOfText: ReadonlySet<ThreadEvent['type']> = new Set([
  'part-end',
  'tool-input-start',
  'round-end',
  'run-end',
])

export function reading({ splitting, shownUpTo, from }: ReadingOptions): Reading {
  let head = 0
  let run: SpokenRun | undefined
  let splitter = sentences(splitting)
  let waitedFor: Utterance['waitedFor'] = 'model'
  const calls = new Set<string>()

  function beginRun({ runId, heard = [] }: RunStartEvent, now: number): ReadingStep[] {
    waitedFor = 'model'
    calls.clear()
    const known = { id: runId, seq: head, inputs: heard, isBack: from?.seq === head, startedAt: now }
    run = { ...known, firstTextAt: undefined, rounds: new Map(), round: 0, known: undefined, isOpen: true }
    return [{ type: 'run', run }]
  }

  function beginRound({ rounds }: SpokenRun, round: number) {
    splitter = sentences(splitting)
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
      const utterance: Utterance = { sentence, place: { round, start }, waitedFor }
      waitedFor = 'model'
      return [{ type: 'utterance', utterance }]
    })
  }

  function isKnown({ isBack }: SpokenRun, { round, chars }: Place): boolean {
    if (!isBack || !from) return head <= shownUpTo
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
        beginRound(run, event.round)
        return event.heard?.length ? [{ type: 'inputs', round: event.round }] : []
      case 'text':
        run.firstTextAt ??= now
        run.rounds.set(run.round, (run.rounds.get(run.round) ?? 0) + event.text.length)
        return utterances(run, splitter.push(event.text))
      case 'round-retract':
        beginRound(run, event.round)
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
      if (isNewRun(event)) return beginRun(event, now)
      if (event.type === 'stop' || (event.type === 'input' && event.mode === 'interrupt'))
        return [{ type: 'interrupt' }]
      if (!run) return []
      const rest = endOfText.has(event.type) ? utterances(run, splitter.flush()) : []
      return [...rest, ...step(run, event, now)]
    },
  }
}

/** The number after which to read so that a run that is open at `upTo` is read whole. Reads backwards, and only as far as that run. */
export async function startOfRun(thread: Pick<Thread, 'id' | 'read'>, upTo: number): Promise<number> {
  const log = { threadId: thread.id, store: { read: (_: string, options: object) => thread.read(options) } }
  const isEdge = ({ event }: Entry) =>
    isNewRun(event) || (event.type === 'run-end' && event.outcome !== 'suspended')
  const { seq = 0, event } = (await findLast(log, upTo, isEdge)) ?? {}
  return event?.type === 'run-start' ? seq - 1 : seq
}
