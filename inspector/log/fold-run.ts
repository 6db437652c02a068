import type { At } from './parts.ts'
import { changed, closeText, hear, keyOf, noUsage, pushNotice } from './parts.ts'
import type { Leg, Log, Run } from './types.ts'

/** A new run, or the one before going on in another process. */
export function beginRun(log: Log, { seq, at, event }: At<'run-start'>): void {
  const { open } = log
  closeText(log)
  const before = log.runs.at(-1)
  const { runId, losses = 0 } = event
  const leg = { runId, seq, at, endedAt: undefined, outcome: undefined, losses }
  if (event.resumes !== undefined && before) goOn(log, before, leg)
  else {
    const run = newRun(event.agent, { ...leg, why: 'first' })
    log.runs.push(run)
    open.run = run
    // One that goes on has a round that was half told: it is taken back, or closed, by whoever took over.
    open.round = undefined
    open.calls.clear()
  }
  hear(log, event.heard)
  const { repairs = [] } = event
  if (repairs.length > 0)
    pushNotice(log, {
      notice: 'repairs',
      seq,
      at,
      text: 'The history had to be mended.',
      detail: repairs.join('\n'),
    })
}

function goOn(log: Log, run: Run, leg: Omit<Leg, 'why'>) {
  const { seq, at } = leg
  const why = run.outcome === 'suspended' ? 'person' : 'lost'
  const last = run.legs.at(-1)
  // Nothing tells when a process was lost: after the last that it wrote.
  if (last) last.endedAt ??= log.entries.at(-2)?.at
  run.legs.push({ ...leg, why })
  changed(run).outcome = undefined
  run.error = undefined
  log.open.run = run
  // A fork from the middle of a run has it stopped, and lost nothing.
  if (why === 'lost' && log.entries.at(-2)?.event.type !== 'stop') {
    const text = 'The process that worked on this was lost. Another has taken over.'
    pushNotice(log, { notice: 'taken-over', seq, at, text })
  }
}

function newRun(agent: string, leg: Leg): Run {
  return {
    id: leg.runId,
    agent,
    seq: leg.seq,
    lastSeq: leg.seq,
    startedAt: leg.at,
    lastAt: leg.at,
    said: [],
    legs: [leg],
    rounds: [],
    calls: [],
    outcome: undefined,
    usage: noUsage,
    error: undefined,
    version: 0,
  }
}

export function endRun(log: Log, { seq, at, event }: At<'run-end'>): void {
  const { run } = log.open
  closeText(log)
  if (!run) return
  const leg = run.legs.at(-1)
  if (leg) {
    leg.endedAt = at
    leg.outcome = event.outcome
  }
  changed(run).outcome = event.outcome
  run.error = event.error
  log.open.run = undefined
  // One that waits for a person shows what it waits for, and goes on with the calls of its round.
  if (event.outcome === 'suspended') return
  log.open.round = undefined
  log.rows.push({
    kind: 'end',
    key: keyOf(log, seq),
    run,
    seq,
    at,
    get version() {
      return run.version
    },
  })
}
