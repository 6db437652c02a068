import type { Change, LogView } from '../view/index.ts'

// A rewind replaces a part of the conversation, which stays in the log. The parts are named by the
// numbers of their inputs, runs and rounds.

/** The part that an entry belongs to, if any. */
export function partOf({ input, run, round, text, closed, call }: Change): number | undefined {
  return input?.seq ?? (text ?? closed ?? call)?.round.seq ?? round?.seq ?? run?.seq
}

/** The parts of the current conversation. */
export function currentParts({ rows, waiting }: LogView): Set<number> {
  const parts = new Set<number>()
  for (const row of [...rows, ...waiting]) {
    if ('round' in row) parts.add(row.round.seq).add(row.round.run.seq)
    else parts.add(row.kind === 'end' ? row.run.seq : row.seq)
  }
  return parts
}
