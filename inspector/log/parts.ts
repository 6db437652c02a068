import type { Entry } from 'millrace/client'
import type { Growing, Log, NoticeRow, SaidRow, Usage } from './types.ts'

/** An entry that holds an event of one type. */
export type At<Type extends Entry['event']['type']> = Pick<Entry, 'seq' | 'at'> & {
  readonly event: Extract<Entry['event'], { readonly type: Type }>
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
}

const counts = Object.keys(noUsage) as (keyof Usage)[]

function plus(usage: Usage, more: Partial<Usage>): Usage {
  const sums = counts.map((name) => [name, usage[name] + (more[name] ?? 0)])
  return Object.fromEntries(sums)
}

export function count(log: Log, usage: Partial<Usage> = {}): void {
  log.usage = plus(log.usage, usage)
  const { run } = log.open
  if (run) run.usage = plus(run.usage, usage)
}

export function growing(): Growing {
  return { pieces: [], chars: 0, closed: false }
}

/** The same thing, to be drawn again. */
export function changed<Thing extends { version: number }>(thing: Thing): Thing {
  thing.version++
  return thing
}

export function closeText({ open }: Log): void {
  if (open.text) changed(open.text).text.closed = true
  open.text = undefined
}

/** Text that is being told goes on above it: a person may speak at any moment. */
export function pushNotice(log: Log, notice: Omit<NoticeRow, 'kind' | 'key' | 'version'>): void {
  log.rows.push({ kind: 'notice', key: keyOf(log, notice.seq), version: 0, ...notice })
}

/** What was said takes its place in the chat where the model first heard it. */
export function hear(log: Log, numbers: readonly number[] = []): SaidRow[] {
  const { run } = log.open
  if (numbers.length === 0 || !run) return []
  const heard = log.waiting.filter(({ seq }) => numbers.includes(seq))
  log.waiting = log.waiting.filter(({ seq }) => !numbers.includes(seq))
  for (const said of heard) changed(said).run = run
  run.said.push(...heard)
  log.rows.push(...heard)
  return heard
}

/** One of its own among the rows of a log: an entry makes at most one row of a kind. */
export function keyOf({ open }: Log, seq: number): string {
  return `${open.inner ? 'inner-' : ''}${seq}`
}
