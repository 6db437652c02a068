import type { Entry } from 'millrace/client'
import type { RunView } from 'millrace/view'
import { duration } from '../format.ts'
import { foldedAxis } from './axis.ts'
import type { BandKind, BarKind, Chart, Frame, Rest } from './chart.ts'
import { lanesOf } from './lanes.ts'
import { clamp } from './spans.ts'
import type { Told } from './steps.ts'
import { stepsOf } from './steps.ts'

/** In these nothing is done, and if they are long there is no point in looking at them. */
const idle: readonly BarKind[] = ['pause', 'turn', 'person']

export interface LayoutOptions {
  /** What is still running has come so far. */
  readonly now: number
  readonly absences?: readonly { readonly from: number; readonly to: number | undefined }[]
}

/** Where everything of a run goes: the rounds in lanes of their own, below each the calls that it made. */
export function layout(
  entries: readonly Entry[],
  run: RunView,
  { now, absences = [] }: LayoutOptions,
): Chart {
  const live = isLive(run)
  const start = run.startedAt
  const end = Math.max(start, run.lastAt, live ? now : 0)
  const frame: Frame = { start, end, live, rests: restsOf(run), told: toldOfCalls(entries, run) }
  const lanes = run.rounds.flatMap((round) => lanesOf(round, frame))
  const busy = lanes.flatMap(({ bars }) => bars.filter(({ kind }) => !idle.includes(kind)))
  const axis = foldedAxis({ start, end, busy })
  const within = (at = end) => clamp(at, start, end)
  const bands: Told<BandKind>[] = [
    ...axis.folds.map((fold) => ({
      kind: 'fold' as const,
      what: `${duration(fold.end - fold.start)} idle`,
      ...fold,
    })),
    ...absences
      .map(({ from, to }) => ({
        kind: 'away' as const,
        what: 'Page not connected',
        start: within(from),
        end: within(to),
      }))
      .filter((span) => span.end > span.start),
    ...run.legs.slice(1).map(({ at, why, losses }) => ({
      kind: 'moment' as const,
      what: why === 'person' ? 'Went on' : `Taken over${losses > 1 ? `, the ${losses}. time` : ''}`,
      start: at,
    })),
  ]
  return { start, end, live, axis, lanes, bands: stepsOf('run', { kind: 'run', run }, bands) }
}

/** One that waits for a person goes on, too, though nobody works on it. */
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

/** When each call was started and reported. What a sub-agent says word by word is no report of how far it is. */
function toldOfCalls(entries: readonly Entry[], { seq, lastSeq }: RunView): Frame['told'] {
  const told = entries.filter(
    (entry) =>
      entry.seq >= seq &&
      entry.seq <= lastSeq &&
      (entry.event.type === 'tool-start' || 'data' in entry.event),
  )
  return Map.groupBy(told, ({ event }) => `${event.type} ${'callId' in event && event.callId}`)
}
