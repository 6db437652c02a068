import type {
  PlaybackEvent,
  ReasoningEvent,
  RoundEndEvent,
  RoundRetractEvent,
  RoundRetryEvent,
  RoundStartEvent,
  TextEvent,
} from '../protocol/index.ts'
import { runIn } from './fold-run.ts'
import {
  addToUsage,
  closeText,
  emptyText,
  endUnfinishedCalls,
  grow,
  markChanged,
  pushNotice,
  readInputs,
} from './parts.ts'
import type { Change, LogView, RoundView, RunView } from './types.ts'

/** Starts a round, at `round-start` or at the retry after a retraction. */
export function startRound(
  view: LogView,
  change: Change,
  { round: number, model, inputs }: Pick<RoundStartEvent, 'round' | 'model' | 'inputs'>,
  isRetry = false,
): RoundView | undefined {
  const { open } = view
  closeText(view, change)
  const run = runIn(view, change)
  if (!run) return undefined
  if (open.onlyRound) {
    run.rounds.length = run.calls.length = open.rows.length = 0
    open.calls.clear()
  }
  const started: RoundView = {
    ...newRound(run, change, { number, model }),
    isRetry,
    inputs: readInputs(view, change, inputs),
  }
  run.rounds.push(started)
  change.round = open.round = started
  open.roundRowsStart = open.rows.length
  return started
}

function newRound(
  run: RunView,
  { entry: { seq: last, from: seq = last, at } }: Change,
  { number, model }: Pick<RoundView, 'number' | 'model'>,
): RoundView {
  return {
    run,
    runId: run.legs.at(-1)?.runId ?? run.id,
    number,
    model,
    seq,
    isRetry: false,
    startedAt: at,
    inputs: [],
    retries: [],
    parts: [],
    calls: [],
    version: 0,
  }
}

/**
 * The round of an entry. Created if the log is read from the middle, or continues after a
 * retraction.
 */
export function roundIn(view: LogView, change: Change, roundNumber?: number): RoundView | undefined {
  const { round, run } = view.open
  if (round) return round
  const { number, model, retracted } = run?.rounds.at(-1) ?? { number: 1, model: '' }
  return startRound(view, change, { round: roundNumber ?? number, model }, retracted !== undefined)
}

/** A question about a budget comes between two rounds. Before the first, it has a round to itself. */
export function roundOfQuestion(view: LogView, change: Change): RoundView | undefined {
  const run = runIn(view, change)
  const last = run?.rounds.findLast(({ retracted }) => !retracted)
  return last ?? (run && newRound(run, change, { number: 0, model: '' }))
}

export function addText(view: LogView, change: Change, event: TextEvent | ReasoningEvent): void {
  const { open } = view
  const { seq: last, from, at } = change.entry
  const seq = from ?? last
  const round = roundIn(view, change)
  if (!round) return
  markChanged(round).firstAt ??= at
  if (open.text?.kind !== event.type) {
    closeText(view, change)
    open.text = {
      kind: event.type,
      key: open.keyPrefix + seq,
      version: 0,
      round,
      seq,
      // The first of several joined deltas was written some time after the previous entry.
      at: from === undefined ? at : (open.last?.at ?? at),
      endedAt: at,
      text: emptyText(),
    }
    round.parts.push(open.text)
    open.rows.push(open.text)
  }
  change.text = markChanged(open.text)
  grow(open.text.text, change, event.text)
  open.text.endedAt = at
}

/** Marks how many characters of a round's text were played. */
export function applyPlayback({ runs }: LogView, event: PlaybackEvent): void {
  const round = runs
    .find(({ id }) => id === event.run)
    ?.rounds.findLast(({ number, retracted }) => number === event.round && !retracted)
  let left = event.chars
  for (const part of round?.parts ?? []) {
    if (part.kind !== 'text') continue
    markChanged(part).played = left < part.text.chars ? Math.max(0, left) : undefined
    left -= part.text.chars
  }
}

export function retryRound(view: LogView, change: Change, event: RoundRetryEvent): void {
  const { seq, at } = change.entry
  const { error, delayMs, model } = event
  const round = view.open.round ?? startRound(view, change, event, true)
  if (!round) return
  markChanged(round).model = model
  round.retries.push({ seq, at, retry: event })
  change.retry = event
  const text = `The request failed. Retrying with ${model} in ${(delayMs / 1000).toFixed(1)} s.`
  pushNotice(view, change, { notice: 'retry', text, detail: `${error.code}: ${error.message}` })
}

/** Removes the round's rows from the chat. The run keeps the round. */
export function retractRound(view: LogView, change: Change, event: RoundRetractEvent): void {
  const { open } = view
  const { at } = change.entry
  closeText(view, change)
  const round = roundIn(view, change, event.round)
  if (!round) return
  change.round = markChanged(round)
  const { reason, failed } = event
  round.retracted = { at, reason, ...(failed && { failed }) }
  round.endedAt ??= at
  const kept = open.rows.slice(open.roundRowsStart).filter((row) => !('round' in row) || row.round !== round)
  open.rows.splice(open.roundRowsStart, Infinity, ...kept)
  for (const call of round.calls) open.calls.delete(call.callId)
  endUnfinishedCalls(round, at)
  open.round = undefined
  const text = 'An unfinished part of the answer was retracted and is generated again.'
  pushNotice(view, change, { notice: 'retract', text, detail: reason })
}

export function endRound(view: LogView, change: Change, event: RoundEndEvent): void {
  const { at } = change.entry
  closeText(view, change)
  const round = roundIn(view, change, event.round)
  addToUsage(view, event.usage)
  if (!round) return
  change.round = markChanged(round)
  round.end = event
  round.run.context = event.context ?? round.run.context
  round.endedAt = at
  endUnfinishedCalls(round, at)
}
