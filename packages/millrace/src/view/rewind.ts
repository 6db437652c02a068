import type { RewindEvent } from '../protocol/index.ts'
import { closeText } from './parts.ts'
import type { Change, InputView, LogView, Version } from './types.ts'

/**
 * Hides the rows that are replaced, and shows those of a version that is restored. What a canceled
 * run still adds belongs to the hidden rows.
 */
export function rewind(view: LogView, change: Change, event: RewindEvent): void {
  const { rows, open, versions } = view
  const isKept = ({ seq }: InputView) => seq < event.before
  const discarded = view.waiting.filter((input) => !isKept(input))
  change.rewound = true
  view.waiting = view.waiting.filter(isKept)
  open.discarded.push(...discarded)
  if (event.keep === undefined) return
  closeText(view, change)
  open.rewind = change.entry.seq
  open.isAnswering = event.answer === true
  const restored = findVersion(view, event.before)
  const at = restored ? restored.at : firstReplaced(view, event.before)
  const hidden = [...rows.splice(at), ...discarded]
  open.rows = hidden
  open.roundRowsStart = Math.max(0, open.roundRowsStart - at)
  if (open.onlyRound) return
  const key = rows.at(-1)?.key ?? ''
  const { list, current } = versions.get(key) ?? { list: [{ rows: [] }], current: 0 }
  if (hidden.length > 0 || restored) {
    const replaced = list[current] as Version
    replaced.rows = hidden
    replaced.replacedBy = change.entry.seq
    if (!restored) list.push({ rows: [] })
  }
  const shown = restored?.version ?? (list.at(-1) as Version)
  rows.push(...shown.rows)
  shown.rows = []
  shown.replacedBy = undefined
  if (list.length > 1) versions.set(key, { list, current: list.indexOf(shown) })
}

/** The version that an earlier rewind replaced, and the index of its first row. */
function findVersion({ rows, versions }: LogView, replacedBy: number) {
  for (const [key, { list }] of versions) {
    const version = list.find((one) => one.replacedBy === replacedBy)
    const at = rows.findIndex((row) => row.key === key) + 1
    // It must be a version of something that is shown.
    if (version && (at > 0 || key === '')) return { version, at }
  }
  return undefined
}

/** The index of the first row that is replaced: an input, or the answer of a run. */
function firstReplaced({ rows, runs }: LogView, before: number): number {
  const run = runs.findLast(({ seq }) => seq === before)
  const index = run
    ? rows.findIndex(({ key }) => key === run.after) + 1
    : rows.findIndex(({ kind, seq }) => kind === 'input' && seq === before)
  return index < 0 ? rows.length : index
}
