import type { RunEndEvent, RunStartEvent } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'
import { changed, closeText, pushNotice, readInputs, voidCalls } from './parts.ts'
import type { Change, LegView, LogView, RunView } from './types.ts'

/** A new run, or the one before, continued by another process. */
export function beginRun(view: LogView, change: Change, event: RunStartEvent): void {
  const { open, runs } = view
  closeText(view, change)
  const before = event.resumes === undefined ? undefined : runs.at(-1)
  const { runId, losses = 0, repairs = [] } = event
  if (before) resume(view, change, before, { runId, losses })
  else openRun(view, change, event.agent, { runId, losses })
  readInputs(view, change, event.heard)
  if (repairs.length > 0)
    pushNotice(view, change, {
      notice: 'repairs',
      text: 'The history had to be mended.',
      detail: repairs.join('\n'),
    })
  // One that resumes an unknown run begins in the middle of its round.
  open.partial &&= event.resumes !== undefined
}

type Process = Pick<LegView, 'runId' | 'losses'>

function openRun(view: LogView, change: Change, agent: string, { runId, losses }: Process): RunView {
  const { open, runs } = view
  const { seq: last, from: seq = last, at } = change.entry
  const run: RunView = {
    id: runId,
    agent,
    seq,
    lastSeq: last,
    startedAt: at,
    lastAt: at,
    inputs: [],
    legs: [{ runId, seq, at, losses, why: 'first' }],
    rounds: [],
    calls: [],
    usage: noUsage,
    version: 0,
  }
  if (open.onlyRound) runs.length = 0
  runs.push(run)
  // A resumed run has a half-generated round: the process that continues it retracts or closes that.
  open.round = undefined
  open.calls.clear()
  change.run = open.run = run
  return run
}

/** The run of an entry. It is made up where the log is read from the middle of it on. */
export function runIn(view: LogView, change: Change): RunView | undefined {
  const { run, partial } = view.open
  return run ?? (partial ? openRun(view, change, '', { runId: '', losses: 0 }) : undefined)
}

function resume(view: LogView, change: Change, run: RunView, { runId, losses }: Process) {
  const { last } = view.open
  const { seq, at } = change.entry
  const why = run.outcome === 'suspended' ? 'person' : 'lost'
  const before = run.legs.at(-1)
  // The log does not say when a process was lost: after the last entry that it wrote.
  if (before) before.endedAt ??= last?.at
  run.legs.push({ runId, seq, at, losses, why })
  changed(run).outcome = undefined
  run.error = undefined
  change.run = view.open.run = run
  // A fork from the middle of a run has stopped it, and lost nothing.
  if (why === 'lost' && last?.event.type !== 'stop') {
    const text = 'The process that worked on this was lost. Another has taken over.'
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
  changed(run).outcome = event.outcome
  run.finish = event.finish
  run.usage = event.usage
  run.error = event.error
  change.run = run
  open.run = undefined
  // A run that waits for a person shows what it waits for, and continues with the calls of its round.
  if (event.outcome === 'suspended') return
  if (open.round) voidCalls(open.round, at)
  open.round = undefined
  view.rows.push({
    kind: 'end',
    key: view.open.keys + seq,
    run,
    seq,
    at,
    get version() {
      return run.version
    },
  })
}
