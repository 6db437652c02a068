import type { RoundView } from 'millrace/view'
import { callPart } from './call-part.ts'
import type { Bar, Frame, Lane, Part } from './chart.ts'
import { roundPart } from './round-part.ts'

/** A round, and below it the calls that it made, in as few lanes as they can share. */
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

/** Where a call is put depends only on what began before it, so that none changes its lane while a run goes on. */
function packed(parts: readonly Part[]): Part[][] {
  const lanes: { parts: Part[]; begun: number; free: number }[] = []
  for (const part of parts) {
    const { start } = part.bars[0] as Bar
    // Two that take no time at the same moment would hide each other: the lane is free only after that moment.
    let lane = lanes.find(({ begun, free }) => begun < start && free <= start)
    if (!lane) {
      lane = { parts: [], begun: 0, free: 0 }
      lanes.push(lane)
    }
    lane.parts.push(part)
    lane.begun = start
    lane.free = part.endedAt === undefined ? Infinity : (part.bars.at(-1) as Bar).end
  }
  return lanes.map(({ parts }) => parts)
}

function namesOf(parts: readonly Part[]): string {
  const names = [...new Set(parts.map(({ name }) => name))].join(', ')
  return parts.length === 1 ? names : `${names} × ${parts.length}`
}
