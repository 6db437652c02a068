import type { CallView } from 'millrace/view'
import type { Frame, Part } from './chart.ts'
import type { Span } from './spans.ts'
import { merged, without } from './spans.ts'
import type { Phase } from './steps.ts'
import { partOf, workedUntil } from './steps.ts'
import { plural } from './words.ts'

/** What happened to a call, one thing after the other. There is always something, even if it took no time. */
export function callPart(call: CallView, frame: Frame): Part {
  const { name, round, seq, begunAt: start, endedAt } = call
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
  const { name, begunAt, closedAt, endedAt, problem, provider, result } = call
  if (provider) {
    const trouble = provider.isError ? 'failed' : undefined
    return [{ kind: 'run', what: `${name} running at the provider`, start: begunAt, end, trouble }]
  }
  const written = closedAt ?? workedUntil(begunAt, end, frame)
  const input: Phase = {
    kind: 'input',
    what: `${name} arguments`,
    start: begunAt,
    end: written,
    trouble: problem,
  }
  if (closedAt === undefined) return [input]

  const runs = runsOf(call, end, frame)
  const asked = merged(call.approvals.map(({ at, decidedAt = end }) => ({ start: at, end: decidedAt })))
  const persons = asked.flatMap((span) => without(span, runs))
  const lastly = endedAt === undefined ? end : (runs.at(-1)?.end ?? end)
  const turns = without({ start: closedAt, end: lastly }, merged([...runs, ...persons, ...frame.rests]))
  const waits = (kind: 'person' | 'turn', what: string, spans: Span[]) =>
    spans.map((span): Phase => ({ kind, what: `${name} waiting for ${what}`, ...span }))
  const phases = [...runs, ...waits('person', 'a person', persons), ...waits('turn', 'its turn', turns)]
  phases.sort((a, b) => a.start - b.start)
  if (phases.length === 0 || problem || closedAt > begunAt) phases.unshift(input)
  // If it never ran, the last thing that happened to it says why.
  const last = phases.pop() as Phase
  const status = result && result.status !== 'ok' ? result.status : undefined
  return [...phases, { ...last, trouble: last.trouble ?? status }]
}

/** Each time it was started, until it had its result, was started again, or its process was gone. */
function runsOf(call: CallView, end: number, frame: Frame): Phase[] {
  const { name, result } = call
  const reports = timesOf(call, 'tool-progress', frame).length
  const more = reports > 0 ? [plural(reports, 'report')] : []
  return timesOf(call, 'tool-start', frame).map((start, index, starts) => {
    const next = starts[index + 1]
    const exactly = next === undefined && result?.ms ? start + result.ms : end
    const stop = Math.max(start, workedUntil(start, Math.min(end, exactly, next ?? Infinity), frame))
    // A call that asked for a decision in its middle was left well; any other was lost with its process.
    const isLost = frame.rests.some((rest) => rest.lost && rest.start === stop)
    const what = `${name} running${starts.length > 1 ? `, attempt ${index + 1}` : ''}`
    return { kind: 'run', what, start, end: stop, more, trouble: isLost ? 'its process was lost' : undefined }
  })
}

/** When it was started, or reported. */
function timesOf({ callId }: CallView, type: 'tool-start' | 'tool-progress', { told }: Frame): number[] {
  return (told.get(`${type} ${callId}`) ?? []).map(({ at }) => at)
}
