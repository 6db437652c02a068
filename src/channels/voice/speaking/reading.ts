import type { Entry, Outcome, ThreadEvent, VoicePlace } from '../../../protocol/index.ts'
import type { Thread } from '../../../threads/index.ts'
import type { SentenceOptions } from '../sentences/sentence.ts'
import { sentences } from '../sentences/splitter.ts'
import type { Utterance } from './segment.ts'

/** What is said in a thread, as it is read from its log. */
interface ReadingListener {
  /** A run has begun. `heard` are the numbers of the inputs that it answers. */
  onRun(run: { readonly run: string; readonly seq: number; readonly heard: readonly number[] }): void
  /** It goes on, after a person has decided or its process was lost. */
  onResume(): void
  onRound(round: number, heard: readonly number[]): void
  /** The first words of a round, or more of them. */
  onWords(round: number, length: number): void
  /** Up to here nothing is said: it was read by eye, or heard before. */
  onKnown(place: { readonly round: number; readonly chars: number }): void
  onUtterance(
    utterance: Utterance & { readonly place: { readonly round: number; readonly start: number } },
  ): void
  onRoundEnd(): void
  onRetract(round: number): void
  /** How many calls are running. */
  onCalls(running: number, name: string): void
  /** Somebody wants the run to end. */
  onInterrupted(): void
  /** Of the words of a round so many characters were heard. */
  onHeard(run: string, round: number, chars: number): void
  onRunEnd(outcome: Outcome): void
}

export interface ReadingOptions extends ReadingListener {
  readonly splitting: SentenceOptions
  /** What was told up to this number has been read by eye: nothing of it is said. */
  readonly told: number
  /** What was heard already. */
  readonly from?: VoicePlace | undefined
}

/** Follows a log and cuts what the model says into sentences. */
export function reading(options: ReadingOptions): { take(entry: Entry): void } {
  const { splitting } = options
  const { told } = options
  let { from } = options
  let seq = 0
  let round = 0
  let splitter = sentences(splitting)
  /** Where in the words of the round the next sentence begins, and how long they are. */
  let start = 0
  let length = 0
  let waitedFor: Utterance['waitedFor'] = 'model'
  const running = new Map<string, string>()

  function give(found: readonly Utterance['sentence'][]) {
    for (const sentence of found) {
      const place = { round, start }
      start += sentence.source.length
      if (wasHeard(place)) {
        options.onKnown({ round, chars: start })
        continue
      }
      options.onUtterance({ sentence, place, waitedFor })
      waitedFor = 'model'
    }
  }

  function wasHeard({ round }: { readonly round: number }): boolean {
    if (!from) return seq <= told
    // Of the run that it is about; the next one is all new.
    return round < from.round || (round === from.round && start <= from.chars)
  }

  function beginRound() {
    splitter = sentences(splitting)
    start = 0
    length = 0
  }

  function take(event: ThreadEvent) {
    switch (event.type) {
      case 'run-start':
        running.clear()
        if (event.resumes === undefined) {
          if (from && seq !== from.seq) from = undefined
          waitedFor = 'model'
          options.onRun({ run: event.runId, seq, heard: event.heard ?? [] })
        } else options.onResume()
        return
      case 'round-start':
        round = event.round
        beginRound()
        return options.onRound(round, event.heard ?? [])
      case 'text':
        length += event.text.length
        options.onWords(round, length)
        return give(splitter.push(event.text))
      case 'part-end':
      case 'tool-input-start':
        // What is done first is said first: nobody knows how long the call will take.
        return give(splitter.flush())
      case 'round-end':
        give(splitter.flush())
        return options.onRoundEnd()
      case 'round-retract':
        beginRound()
        return options.onRetract(event.round)
      case 'tool-start':
        running.set(event.callId, event.name)
        return options.onCalls(running.size, event.name)
      case 'tool-result':
        waitedFor = 'tool'
        running.delete(event.callId)
        return options.onCalls(running.size, event.name)
      case 'stop':
        return options.onInterrupted()
      case 'input':
        return event.mode === 'interrupt' ? options.onInterrupted() : undefined
      case 'heard':
        return options.onHeard(event.run, event.round, event.chars)
      case 'run-end':
        give(splitter.flush())
        running.clear()
        return options.onRunEnd(event.outcome)
    }
  }

  return {
    take(entry) {
      seq = entry.seq
      take(entry.event)
    },
  }
}

/** Where to begin to read so that a run that is under way is read whole. */
export async function beginningOf(thread: Thread, head: number): Promise<number> {
  let after = 0
  let beginning = 0
  while (after < head) {
    const page = await thread.read({ after })
    if (page.length === 0) break
    for (const { seq, event } of page) {
      if (seq > head) return beginning
      if (event.type === 'run-start' && event.resumes === undefined) beginning = seq - 1
      if (event.type === 'run-end' && event.outcome !== 'suspended') beginning = seq
      after = seq
    }
  }
  return beginning
}
