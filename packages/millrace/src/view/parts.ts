import type { Usage } from '../protocol/index.ts'
import { addUsage } from '../protocol/index.ts'
import type { Change, GrowingText, InputView, LogView, NoticeView, RoundView } from './types.ts'

export function addToUsage({ open: { run } }: LogView, usage: Partial<Usage> = {}): void {
  if (run) run.usage = addUsage(run.usage, usage)
}

export function emptyText(): GrowingText {
  return { pieces: [], chars: 0, closed: false }
}

export function grow(text: GrowingText, change: Change, delta: string): void {
  change.delta = delta
  text.pieces.push(delta)
  text.chars += delta.length
}

/** Increments the version, so that renderers draw the thing again. */
export function markChanged<Thing extends { version: number }>(thing: Thing): Thing {
  thing.version++
  return thing
}

export function closeText({ open }: LogView, change: Change): void {
  if (!open.text) return
  change.closed = markChanged(open.text)
  open.text.text.closed = true
  open.text = undefined
}

/** Open text continues above the notice: a user may write at any time. */
export function pushNotice(
  view: LogView,
  change: Change,
  notice: Pick<NoticeView, 'notice' | 'text' | 'detail'>,
): void {
  const { seq, at } = change.entry
  change.notice = { kind: 'notice', key: view.open.keyPrefix + seq, version: 0, seq, at, ...notice }
  view.open.rows.push(change.notice)
}

/** An input is placed in the chat where the model first read it. */
export function readInputs(
  view: LogView,
  change: Change,
  numbers: readonly number[] | undefined,
): InputView[] {
  const { run } = view.open
  if (!numbers?.length || !run) return []
  const isRead = ({ seq }: InputView) => numbers.includes(seq)
  // Rewinds that the run does not know of may have discarded later ones first.
  const read = [...view.waiting, ...view.open.discarded].filter(isRead).sort((a, b) => a.seq - b.seq)
  view.waiting = view.waiting.filter((input) => !isRead(input))
  view.open.discarded = view.open.discarded.filter((input) => !isRead(input))
  for (const input of read) markChanged(input).run = run
  run.inputs.push(...read)
  view.open.rows.push(...read)
  change.read = read
  return read
}

/** Ends calls that the model never finished; in a retracted round, all calls without a result. */
export function endUnfinishedCalls({ calls, retracted }: RoundView, at: number): void {
  for (const call of calls) {
    if (call.endedAt !== undefined || (!retracted && call.closedAt !== undefined)) continue
    markChanged(call).endedAt = at
    call.raw.closed = true
    // Not every provider tool has an output.
    call.state = call.provider ? 'ok' : 'rejected'
    if (!call.provider && !retracted) call.problem = 'The model never finished the arguments.'
  }
}
