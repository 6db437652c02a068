import type { CallView } from 'millrace/view'
import { plural } from '../format.ts'
import type { Frame, Part } from './chart.ts'
import type { Span } from './spans.ts'
import { merged, without } from './spans.ts'
import type { Phase } from './steps.ts'
import { partOf, workedUntil } from './steps.ts'

/** The phases of a call, in order. At least one, even if the call took no time. */
export function callPart(call: CallView, frame: Frame): Part {
  const { name, round, seq, createdAt: start, endedAt } = call
  const end = Math.max(start, endedAt ?? frame.end)
  const phases = phasesOf(call, end, frame)
  const marks = timesOf(call, 'tool-progress', frame).map((start) => ({
    kind: 'report' as const,
    what: `${name} reported`,
    start,
  }))
  return partOf({ of: { kind: 'call', call }, name, round, seq, start, end, endedAt, phases, marks }, frame)
}

function phasesOf(call: CallView, end: number, frame: Frame): Phase[] {
  const { name, createdAt, closedAt, endedAt, problem, provider, result } = call
  if (provider) {
    const problem = provider.isError ? 'failed' : undefined
    return [{ kind: 'run', what: `${name} running at the provider`, start: createdAt, end, problem }]
  }
  const written = closedAt ?? workedUntil(createdAt, end, frame)
  const input: Phase = {
    kind: 'input',
    what: `${name} arguments`,
    start: createdAt,
    end: written,
    problem,
  }
  if (closedAt === undefined) return [input]

  const runs = runsOf(call, end, frame)
  const asked = merged(call.approvals.map(({ at, decidedAt = end }) => ({ start: at, end: decidedAt })))
  const persons = asked.flatMap((span) => without(span, runs))
  const lastly = endedAt === undefined ? end : (runs.at(-1)?.end ?? end)
  const turns = without({ start: closedAt, end: lastly }, merged([...runs, ...persons, ...frame.rests]))
  const waits = (kind: 'person' | 'turn', what: string, spans: Span[]) =>
    spans.map((span): Phase => ({ kind, what: `${name} waiting for ${what}`, ...span }))
  const whom = call.approvals.some(({ request }) => request.wants === 'result') ? 'a client' : 'a person'
  const phases = [...runs, ...waits('person', whom, persons), ...waits('turn', 'its turn', turns)]
  phases.sort((a, b) => a.start - b.start)
  if (phases.length === 0 || problem || closedAt > createdAt) phases.unshift(input)
  // If it never ran, its last phase says why.
  const last = phases.pop() as Phase
  const status = result && result.status !== 'ok' ? result.status : undefined
  return [...phases, { ...last, problem: last.problem ?? status }]
}

/** One phase per start, until the result, the next start, or the death of the process. */
function runsOf(call: CallView, end: number, frame: Frame): Phase[] {
  const { name, result } = call
  const reports = timesOf(call, 'tool-progress', frame).length
  const more = reports > 0 ? [plural(reports, 'report')] : []
  return timesOf(call, 'tool-start', frame).map((start, index, starts) => {
    const next = starts[index + 1]
    const exactly = next === undefined && result?.ms ? start + result.ms : end
    const stop = Math.max(start, workedUntil(start, Math.min(end, exactly, next ?? Infinity), frame))
    // A call that was suspended for a decision was not lost.
    const isLost = frame.rests.some((rest) => rest.lost && rest.start === stop)
    const what = `${name} running${starts.length > 1 ? `, attempt ${index + 1}` : ''}`
    return { kind: 'run', what, start, end: stop, more, problem: isLost ? 'its process was lost' : undefined }
  })
}

/** When the call was started, or reported progress. */
function timesOf(
  { callId }: CallView,
  type: 'tool-start' | 'tool-progress',
  { callEvents }: Frame,
): number[] {
  return (callEvents.get(`${type} ${callId}`) ?? []).map(({ at }) => at)
}
