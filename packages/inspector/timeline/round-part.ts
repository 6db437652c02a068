import type { InputView, RoundView } from 'millrace/view'
import { textOf } from 'millrace/view'
import type { Frame, MarkKind, Part } from './chart.ts'
import { exact } from './labels.ts'
import { clamp } from './spans.ts'
import type { Phase, StepInput } from './steps.ts'
import { partOf, workedUntil } from './steps.ts'

/** The steps of a round: waiting, retries, reasoning and text. Its calls have their own lanes. */
export function roundPart(round: RoundView, frame: Frame): Part {
  const { seq, number, model, startedAt: start, endedAt, retracted } = round
  const name = `Round ${number}`
  const phases: Phase[] = []
  let askedAt = start
  for (const { at, retry } of round.retries) {
    const { attempt, delayMs, error } = retry
    const problem = `${error.code}: ${error.message}`
    // If the round was retracted, what came before the retry is in another lane.
    if (at > askedAt)
      phases.push({
        kind: 'wait',
        what: `${name}, request ${attempt - 1} failing`,
        start: askedAt,
        end: at,
        problem,
      })
    askedAt = at + delayMs
    phases.push({ kind: 'pause', what: `${name}, pause before request ${attempt}`, start: at, end: askedAt })
  }
  // The timings of the model start with the last request.
  const { firstEventMs = Infinity, ms = Infinity } = round.end?.timings ?? {}
  const end = workedUntil(start, Math.min(endedAt ?? frame.end, askedAt + ms), frame)
  // During a pause, the next request is in the future.
  askedAt = Math.min(askedAt, end)
  const firstAt = Math.min(round.firstAt ?? Infinity, askedAt + firstEventMs)
  phases.push({ kind: 'wait', what: `${name}, waiting for ${model}`, start: askedAt, end: firstAt })
  phases.push(...partsOf(round, name, firstAt))

  const marks: StepInput<MarkKind>[] = inputsOf(round).map(({ message }) => ({
    kind: 'input',
    what: `Input: “${textOf(message).slice(0, 80)}”`,
    start,
  }))
  if (firstAt < Infinity) {
    const first = clamp(firstAt, askedAt, end)
    marks.push({ kind: 'first', what: `First token after ${exact(first - askedAt)}`, start: first })
  }
  if (retracted) marks.push({ kind: 'broken', what: `Retracted: ${retracted.reason}`, start: retracted.at })
  else if (round.end?.error)
    marks.push({ kind: 'broken', what: `Interrupted: ${round.end.error.message}`, start: end })
  return partOf({ of: { kind: 'round', round }, name, round, seq, start, end, endedAt, phases, marks }, frame)
}

/**
 * The reasoning and text of a round. Each part starts where the previous one ended, since the model
 * was generating it from then on, but no later than its first delta: some wire formats close a call
 * only at the end of the response.
 */
function partsOf({ parts, endedAt }: RoundView, name: string, firstAt: number): Phase[] {
  let free = firstAt
  return parts.flatMap((part): Phase[] => {
    const from = free
    if (part.kind === 'call') {
      free = Math.max(from, part.closedAt ?? part.createdAt)
      return []
    }
    const { kind, text } = part
    free = Math.max(from, part.endedAt)
    const isReasoning = kind === 'reasoning'
    return [
      {
        kind: isReasoning ? 'think' : 'text',
        what: `${name}, ${isReasoning ? 'thinking' : 'writing'}`,
        more: [`${text.chars} characters`],
        start: Math.max(firstAt, Math.min(from, part.at)),
        end: text.closed || endedAt !== undefined ? part.endedAt : Infinity,
      },
    ]
  })
}

/** The first round reads the inputs that the run answers; later rounds read what users add. */
function inputsOf(round: RoundView): readonly InputView[] {
  const { inputs, rounds } = round.run
  if (round !== rounds[0]) return round.inputs
  return inputs.filter((one) => !rounds.some((other) => other !== round && other.inputs.includes(one)))
}
