import type { Entry } from 'millrace/client'
import type { RunView } from 'millrace/view'
import { duration } from '../format.ts'
import { foldedAxis } from './axis.ts'
import type { BandKind, BarKind, Chart, Frame, Rest } from './chart.ts'
import { lanesOf } from './lanes.ts'
import { clamp } from './spans.ts'
import type { StepInput } from './steps.ts'
import { stepsOf } from './steps.ts'

/** Steps that are idle time, which is folded if it is long. */
const idle: readonly BarKind[] = ['pause', 'turn', 'person']

export interface LayoutOptions {
  /** The end of steps that are still running. */
  readonly now: number
  readonly outages?: readonly { readonly from: number; readonly to: number | undefined }[]
}

/** Lays out a run: one lane per round, followed by the lanes of its calls. */
export function layout(entries: readonly Entry[], run: RunView, { now, outages = [] }: LayoutOptions): Chart {
  const live = isLive(run)
  const start = run.startedAt
  const end = Math.max(start, run.lastAt, live ? now : 0)
  const frame: Frame = { start, end, live, rests: restsOf(run), callEvents: callEventsOf(entries, run) }
  const lanes = run.rounds.flatMap((round) => lanesOf(round, frame))
  const busy = lanes.flatMap(({ bars }) => bars.filter(({ kind }) => !idle.includes(kind)))
  const axis = foldedAxis({ start, end, busy })
  const within = (at = end) => clamp(at, start, end)
  const bands: StepInput<BandKind>[] = [
    ...axis.folds.map((fold) => ({
      kind: 'fold' as const,
      what: `${duration(fold.end - fold.start)} idle`,
      ...fold,
    })),
    ...outages
      .map(({ from, to }) => ({
        kind: 'offline' as const,
        what: 'Page not connected',
        start: within(from),
        end: within(to),
      }))
      .filter((span) => span.end > span.start),
    ...run.legs.slice(1).map(({ at, why, losses }) => ({
      kind: 'resume' as const,
      what: why === 'person' ? 'Resumed' : `Taken over${losses > 1 ? ` (${losses}×)` : ''}`,
      start: at,
    })),
  ]
  return { start, end, live, axis, lanes, bands: stepsOf('run', { kind: 'run', run }, bands) }
}

/** A run that waits for a user has not ended. */
export function isLive({ outcome }: RunView): boolean {
  return outcome === undefined || outcome === 'suspended'
}

function restsOf({ legs, lastAt, outcome }: RunView): Rest[] {
  const rests = legs.slice(1).map((leg, index): Rest => {
    const start = legs[index]?.endedAt ?? leg.at
    return { start, end: leg.at, lost: leg.why === 'lost' }
  })
  return outcome === 'suspended' ? [...rests, { start: lastAt, end: Infinity, lost: false }] : rests
}

/** The starts and progress reports of each call, without the events of sub-agents. */
function callEventsOf(entries: readonly Entry[], { seq, lastSeq }: RunView): Frame['callEvents'] {
  const events = entries.filter(
    (entry) =>
      entry.seq >= seq &&
      entry.seq <= lastSeq &&
      (entry.event.type === 'tool-start' || 'data' in entry.event),
  )
  return Map.groupBy(events, ({ event }) => `${event.type} ${'callId' in event && event.callId}`)
}
