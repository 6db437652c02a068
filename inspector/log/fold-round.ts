import type { At } from './parts.ts'
import { changed, closeText, count, growing, hear, keyOf, pushNotice } from './parts.ts'
import type { Log, Round, TextRow } from './types.ts'

/** A round begins with its start, or once more with the try after it was taken back. */
export function beginRound(log: Log, { seq, at, event }: At<'round-start' | 'round-retry'>): void {
  const { run } = log.open
  closeText(log)
  if (!run) return
  const round: Round = {
    run,
    runId: run.legs.at(-1)?.runId ?? run.id,
    number: event.round,
    model: event.model,
    seq,
    startedAt: at,
    firstAt: undefined,
    endedAt: undefined,
    heard: event.type === 'round-start' ? hear(log, event.heard) : [],
    retries: [],
    retracted: undefined,
    texts: [],
    calls: [],
    end: undefined,
    version: 0,
  }
  run.rounds.push(round)
  log.open.round = round
  log.open.rowsFrom = log.rows.length
}

export function addText(log: Log, { seq, at, event }: At<'text' | 'reasoning'>): void {
  const { open } = log
  const { round } = open
  if (!round) return
  changed(round).firstAt ??= at
  if (open.text?.kind !== event.type) {
    closeText(log)
    const [before, { from } = {}] = log.entries.slice(-2)
    open.text = {
      kind: event.type,
      key: keyOf(log, seq),
      version: 0,
      round,
      seq,
      // Where deltas were joined, the first came some time after the entry before them.
      at: from === undefined ? at : (before?.at ?? at),
      endedAt: at,
      text: growing(),
      heard: undefined,
    }
    round.texts.push(open.text)
    log.rows.push(open.text)
  }
  const row: TextRow = changed(open.text)
  row.text.pieces.push(event.text)
  row.text.chars += event.text.length
  row.endedAt = at
}

/** Of the words of a round so many characters were heard, when they were spoken. */
export function hearRound({ runs }: Log, { event }: At<'heard'>): void {
  const round = runs
    .find(({ id }) => id === event.run)
    ?.rounds.findLast(({ number, retracted }) => number === event.round && !retracted)
  let left = event.chars
  for (const row of round?.texts ?? []) {
    if (row.kind !== 'text') continue
    changed(row).heard = left < row.text.chars ? Math.max(0, left) : undefined
    left -= row.text.chars
  }
}

export function retryRound(log: Log, { seq, at, event }: At<'round-retry'>): void {
  if (!log.open.round) beginRound(log, { seq, at, event })
  const { round } = log.open
  if (!round) return
  changed(round).model = event.model
  round.retries.push({ at, retry: event })
  const { error, delayMs, model } = event
  const text = `The request failed. ${model} is asked again in ${(delayMs / 1000).toFixed(1)} s.`
  pushNotice(log, { notice: 'retry', seq, at, text, detail: `${error.code}: ${error.message}` })
}

/** What it has shown leaves the chat, and stays in the run. */
export function retractRound(log: Log, { seq, at, event }: At<'round-retract'>): void {
  const { open } = log
  const { round, rowsFrom } = open
  closeText(log)
  if (!round) return
  changed(round).retracted = { at, reason: event.reason }
  round.endedAt ??= at
  const kept = log.rows.slice(rowsFrom).filter((row) => {
    if (row.kind === 'call') return row.call.round !== round
    return row.kind === 'said' || row.kind === 'notice' || row.kind === 'end'
  })
  log.rows.splice(rowsFrom, Infinity, ...kept)
  for (const call of round.calls) {
    open.calls.delete(call.callId)
    call.raw.closed = true
    changed(call).endedAt ??= at
  }
  open.round = undefined
  const text = 'An unfinished part of the answer was taken back, and is told again.'
  pushNotice(log, { notice: 'retract', seq, at, text, detail: event.reason })
}

export function endRound(log: Log, { at, event }: At<'round-end'>): void {
  const { round } = log.open
  closeText(log)
  if (!round) return
  changed(round).end = event
  round.endedAt = at
  count(log, event.usage)
  for (const call of round.calls) {
    if (call.closedAt !== undefined) continue
    // Not all that a provider runs has an output.
    changed(call).endedAt ??= at
    // Begun and never closed, it is void.
    if (!call.provider) call.problem = 'The model never finished its arguments.'
    call.raw.closed = true
  }
}
