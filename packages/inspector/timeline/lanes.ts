import type { RoundView } from 'millrace/view'
import { callPart } from './call-part.ts'
import type { Bar, Frame, Lane, Part } from './chart.ts'
import { roundPart } from './round-part.ts'

/** The lane of a round, then its calls in as few lanes as possible. */
export function lanesOf(round: RoundView, frame: Frame): Lane[] {
  const laneOf = (parts: readonly Part[], isRound: boolean): Lane => ({
    name: namesOf(parts),
    isRound,
    retracted: round.retracted !== undefined,
    bars: parts.flatMap(({ bars }) => bars),
    marks: parts.flatMap(({ marks }) => marks),
  })
  const calls = round.calls.map((call) => callPart(call, frame))
  return [laneOf([roundPart(round, frame)], true), ...packed(calls).map((parts) => laneOf(parts, false))]
}

/** The lane of a call depends only on earlier calls, so that no call changes lanes during a run. */
function packed(parts: readonly Part[]): Part[][] {
  const lanes: { parts: Part[]; lastStart: number; free: number }[] = []
  for (const part of parts) {
    const { start } = part.bars[0] as Bar
    // Two calls without duration at the same time would hide each other.
    let lane = lanes.find(({ lastStart, free }) => lastStart < start && free <= start)
    if (!lane) {
      lane = { parts: [], lastStart: 0, free: 0 }
      lanes.push(lane)
    }
    lane.parts.push(part)
    lane.lastStart = start
    lane.free = part.endedAt === undefined ? Infinity : (part.bars.at(-1) as Bar).end
  }
  return lanes.map(({ parts }) => parts)
}

function namesOf(parts: readonly Part[]): string {
  const names = [...new Set(parts.map(({ name }) => name))].join(', ')
  return parts.length === 1 ? names : `${names} × ${parts.length}`
}
