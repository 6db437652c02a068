import type {
  HeardEvent,
  ReasoningEvent,
  RoundEndEvent,
  RoundRetractEvent,
  RoundRetryEvent,
  RoundStartEvent,
  TextEvent,
} from '../protocol/index.ts'
import { runIn } from './fold-run.ts'
import { changed, closeText, count, grow, growing, pushNotice, readInputs, voidCalls } from './parts.ts'
import type { Change, LogView, RoundView } from './types.ts'

/** A round begins with its start, or with the retry after it was retracted. */
export function beginRound(
  view: LogView,
  change: Change,
  { round: number, model, heard }: Pick<RoundStartEvent, 'round' | 'model' | 'heard'>,
  isRetry = false,
): RoundView | undefined {
  const { open } = view
  const { seq: last, from: seq = last, at } = change.entry
  closeText(view, change)
  const run = runIn(view, change)
  if (!run) return undefined
  if (open.onlyRound) {
    run.rounds.length = run.calls.length = view.rows.length = 0
    open.calls.clear()
  }
  const begun: RoundView = {
    run,
    runId: run.legs.at(-1)?.runId ?? run.id,
    number,
    model,
    seq,
    isRetry,
    startedAt: at,
    inputs: readInputs(view, change, heard),
    retries: [],
    parts: [],
    calls: [],
    version: 0,
  }
  run.rounds.push(begun)
  change.round = open.round = begun
  open.rowsFrom = view.rows.length
  return begun
}

/** The round of an entry. It is made up where the log is read from the middle of it on, or goes on after a retraction. */
export function roundIn(view: LogView, change: Change, given?: number): RoundView | undefined {
  const { round, run } = view.open
  if (round) return round
  const { number, model, retracted } = run?.rounds.at(-1) ?? { number: 1, model: '' }
  return beginRound(view, change, { round: given ?? number, model }, retracted !== undefined)
}

export function addText(view: LogView, change: Change, event: TextEvent | ReasoningEvent): void {
  const { open } = view
  const { seq: last, from, at } = change.entry
  const seq = from ?? last
  const round = roundIn(view, change)
  if (!round) return
  changed(round).firstAt ??= at
  if (open.text?.kind !== event.type) {
    closeText(view, change)
    open.text = {
      kind: event.type,
      key: open.keys + seq,
      version: 0,
      round,
      seq,
      // Where deltas were joined, the first came some time after the entry before them.
      at: from === undefined ? at : (open.last?.at ?? at),
      endedAt: at,
      text: growing(),
    }
    round.parts.push(open.text)
    view.rows.push(open.text)
  }
  change.text = changed(open.text)
  grow(open.text.text, change, event.text)
  open.text.endedAt = at
}

/** Of the words of a round so many characters were heard, when they were spoken. */
export function hearRound({ runs }: LogView, event: HeardEvent): void {
  const round = runs
    .find(({ id }) => id === event.run)
    ?.rounds.findLast(({ number, retracted }) => number === event.round && !retracted)
  let left = event.chars
  for (const part of round?.parts ?? []) {
    if (part.kind !== 'text') continue
    changed(part).heard = left < part.text.chars ? Math.max(0, left) : undefined
    left -= part.text.chars
  }
}

export function retryRound(view: LogView, change: Change, event: RoundRetryEvent): void {
  const { seq, at } = change.entry
  const { error, delayMs, model } = event
  const round = view.open.round ?? beginRound(view, change, event, true)
  if (!round) return
  changed(round).model = model
  round.retries.push({ seq, at, retry: event })
  change.retry = event
  const text = `The request failed. ${model} is asked again in ${(delayMs / 1000).toFixed(1)} s.`
  pushNotice(view, change, { notice: 'retry', text, detail: `${error.code}: ${error.message}` })
}

/** What it has shown leaves the chat, and stays in the run. */
export function retractRound(view: LogView, change: Change, event: RoundRetractEvent): void {
  const { open } = view
  const { at } = change.entry
  closeText(view, change)
  const round = roundIn(view, change, event.round)
  if (!round) return
  change.round = changed(round)
  round.retracted = { at, reason: event.reason }
  round.endedAt ??= at
  const kept = view.rows.slice(open.rowsFrom).filter((row) => !('round' in row) || row.round !== round)
  view.rows.splice(open.rowsFrom, Infinity, ...kept)
  for (const call of round.calls) open.calls.delete(call.callId)
  voidCalls(round, at)
  open.round = undefined
  const text = 'An unfinished part of the answer was taken back, and is told again.'
  pushNotice(view, change, { notice: 'retract', text, detail: event.reason })
}

export function endRound(view: LogView, change: Change, event: RoundEndEvent): void {
  const { at } = change.entry
  closeText(view, change)
  const round = roundIn(view, change, event.round)
  count(view, event.usage)
  if (!round) return
  change.round = changed(round)
  round.end = event
  round.endedAt = at
  voidCalls(round, at)
}
