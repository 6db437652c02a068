import type { InputView, RoundView } from 'millrace/view'
import { textOf } from 'millrace/view'
import type { Frame, MarkKind, Part } from './chart.ts'
import { clamp } from './spans.ts'
import type { Phase, Told } from './steps.ts'
import { partOf, workedUntil } from './steps.ts'
import { exact } from './words.ts'

/** One generation: it is waited for, perhaps asked for again, and then it thinks and writes. Its calls have lanes of their own. */
export function roundPart(round: RoundView, frame: Frame): Part {
  const { seq, number, model, startedAt: start, endedAt, retracted } = round
  const name = `Round ${number}`
  const phases: Phase[] = []
  let askedAt = start
  for (const { at, retry } of round.retries) {
    const { attempt, delayMs, error } = retry
    const trouble = `${error.code}: ${error.message}`
    // What was told before that may stand in a lane of its own, taken back.
    if (at > askedAt)
      phases.push({
        kind: 'wait',
        what: `${name}, request ${attempt - 1} failing`,
        start: askedAt,
        end: at,
        trouble,
      })
    askedAt = at + delayMs
    phases.push({ kind: 'pause', what: `${name}, pause before request ${attempt}`, start: at, end: askedAt })
  }
  // The model's own figures begin with the last request.
  const { firstEventMs = Infinity, ms = Infinity } = round.end?.timings ?? {}
  const end = workedUntil(start, Math.min(endedAt ?? frame.end, askedAt + ms), frame)
  // While it waits to be sent again, that is still to come.
  askedAt = Math.min(askedAt, end)
  const firstAt = Math.min(round.firstAt ?? Infinity, askedAt + firstEventMs)
  phases.push({ kind: 'wait', what: `${name}, waiting for ${model}`, start: askedAt, end: firstAt })
  phases.push(...partsOf(round, name, firstAt))

  const marks: Told<MarkKind>[] = heardBy(round).map(({ message }) => ({
    kind: 'heard',
    what: `Heard: “${textOf(message).slice(0, 80)}”`,
    start,
  }))
  if (firstAt < Infinity) {
    const first = clamp(firstAt, askedAt, end)
    marks.push({ kind: 'first', what: `First token after ${exact(first - askedAt)}`, start: first })
  }
  if (retracted) marks.push({ kind: 'broken', what: `Taken back: ${retracted.reason}`, start: retracted.at })
  else if (round.end?.error)
    marks.push({ kind: 'broken', what: `Interrupted: ${round.end.error.message}`, start: end })
  return partOf({ of: { kind: 'round', round }, name, round, seq, start, end, endedAt, phases, marks }, frame)
}

/**
 * What it thought and wrote. Each part begins where what came before it ended, since the model was at work on it from then on; but no
 * later than its first words: some wires close a call only when all is said.
 */
function partsOf({ parts, endedAt }: RoundView, name: string, firstAt: number): Phase[] {
  let free = firstAt
  return parts.flatMap((part): Phase[] => {
    const from = free
    if (part.kind === 'call') {
      free = Math.max(from, part.closedAt ?? part.begunAt)
      return []
    }
    const { kind, text } = part
    free = Math.max(from, part.endedAt)
    const isThought = kind === 'reasoning'
    return [
      {
        kind: isThought ? 'think' : 'text',
        what: `${name}, ${isThought ? 'thinking' : 'writing'}`,
        more: [`${text.chars} characters`],
        start: Math.max(firstAt, Math.min(from, part.at)),
        end: text.closed || endedAt !== undefined ? part.endedAt : Infinity,
      },
    ]
  })
}

/** What a run answers it hears before its first round; what people add while it goes on, before a later one. */
function heardBy(round: RoundView): readonly InputView[] {
  const { inputs, rounds } = round.run
  if (round !== rounds[0]) return round.inputs
  return inputs.filter((one) => !rounds.some((other) => other !== round && other.inputs.includes(one)))
}
