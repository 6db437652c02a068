import type { RunEndEvent, RunStartEvent } from '../protocol/index.ts'
import { nothingSpent, noUsage } from '../protocol/index.ts'
import { closeText, endUnfinishedCalls, markChanged, pushNotice, readInputs } from './parts.ts'
import type { Change, LegView, LogView, RunView } from './types.ts'

/** Starts a new run, or resumes the last one in another process. */
export function startRun(view: LogView, change: Change, event: RunStartEvent): void {
  const { open, runs } = view
  closeText(view, change)
  const before = event.resumes === undefined ? undefined : runs.at(-1)
  const { runId, losses = 0, repairs = [] } = event
  if (before) resume(view, change, before, { runId, losses })
  else addRun(view, change, event.agent, { runId, losses })
  if (!before) placeRows(view, event)
  readInputs(view, change, event.inputs)
  open.discarded = open.discarded.filter(({ seq }) => !event.discarded?.includes(seq))
  if (!before && change.run) change.run.after = view.rows.at(-1)?.key ?? ''
  if (repairs.length > 0)
    pushNotice(view, change, {
      notice: 'repairs',
      text: 'The conversation history was repaired.',
      detail: repairs.join('\n'),
    })
  // A run that resumes an unknown one starts in the middle of its round.
  open.isPartial &&= event.resumes !== undefined
}

/** A run that started without knowing of a rewind is canceled, and its rows are not shown. */
function placeRows({ rows, open }: LogView, { inputs = [] }: RunStartEvent) {
  const { rewind } = open
  const isStale = rewind !== undefined && inputs.every((seq) => seq < rewind)
  open.rows = isStale ? [] : rows
  if (isStale) return
  open.rewind = undefined
  open.isAnswering = false
}

type LegIds = Pick<LegView, 'runId' | 'losses'>

function addRun(view: LogView, change: Change, agent: string, { runId, losses }: LegIds): RunView {
  const { open, runs } = view
  const { seq: last, from: seq = last, at } = change.entry
  const run: RunView = {
    id: runId,
    agent,
    seq,
    after: '',
    lastSeq: last,
    startedAt: at,
    lastAt: at,
    inputs: [],
    legs: [{ runId, seq, at, losses, why: 'first' }],
    rounds: [],
    calls: [],
    usage: noUsage,
    spent: nothingSpent(),
    feedback: new Map(),
    version: 0,
  }
  if (open.onlyRound) runs.length = 0
  runs.push(run)
  // An incomplete round of a resumed run is retracted or closed by the process that continues it.
  open.round = undefined
  open.calls.clear()
  change.run = open.run = run
  return run
}

/** The run of an entry. Created as a placeholder if the log is read from the middle. */
export function runIn(view: LogView, change: Change): RunView | undefined {
  const { run, isPartial } = view.open
  return run ?? (isPartial ? addRun(view, change, '', { runId: '', losses: 0 }) : undefined)
}

function resume(view: LogView, change: Change, run: RunView, { runId, losses }: LegIds) {
  const { last } = view.open
  const { seq, at } = change.entry
  const why = run.outcome === 'suspended' ? 'person' : 'lost'
  const before = run.legs.at(-1)
  // The log does not say when a process died, only when it wrote its last entry.
  if (before) before.endedAt ??= last?.at
  run.legs.push({ runId, seq, at, losses, why })
  markChanged(run).outcome = undefined
  run.error = undefined
  change.run = view.open.run = run
  // A fork from the middle of a run stops it, and no process died.
  if (why === 'lost' && last?.event.type !== 'stop') {
    const text = 'The server process stopped. Another one picked this up.'
    pushNotice(view, change, { notice: 'taken-over', text })
  }
}

export function endRun(view: LogView, change: Change, event: RunEndEvent): void {
  const { open } = view
  const { seq, at } = change.entry
  closeText(view, change)
  const run = runIn(view, change)
  if (!run) return
  const leg = run.legs.at(-1)
  if (leg) {
    leg.endedAt = at
    leg.outcome = event.outcome
  }
  markChanged(run).outcome = event.outcome
  run.finish = event.finish
  run.usage = event.usage
  run.limit = event.limit
  run.error = event.error
  change.run = run
  open.run = undefined
  // A suspended run shows what it waits for, and continues with the calls of its round.
  if (event.outcome === 'suspended') return
  if (open.round) endUnfinishedCalls(open.round, at)
  open.round = undefined
  open.rows.push({
    kind: 'end',
    key: view.open.keyPrefix + seq,
    run,
    seq,
    at,
    get version() {
      return run.version
    },
  })
}
