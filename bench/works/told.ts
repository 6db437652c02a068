import { createHash } from 'node:crypto'
import type { Listener } from '../contract.ts'
import type { Scenario } from '../server/scenario.ts'

/** What one use of a client has told. */
export interface Told extends Listener {
  readonly pieces: string[]
  readonly calls: { readonly name: string; readonly input: Readonly<Record<string, unknown>> }[]
  readonly partials: { count: number; longest: number }
  /** On the clock of `performance`; 0 if no text came. */
  readonly startedAt: number
  firstAt: number
}

/** Does as little as it can while the clock runs: everything is looked at afterwards. */
export function newTold(onText?: (piece: string) => void): Told {
  const told: Told = {
    pieces: [],
    calls: [],
    partials: { count: 0, longest: 0 },
    startedAt: performance.now(),
    firstAt: 0,
    text(piece) {
      if (told.firstAt === 0) told.firstAt = performance.now()
      told.pieces.push(piece)
      onText?.(piece)
    },
    partial(chars) {
      told.partials.count++
      if (chars > told.partials.longest) told.partials.longest = chars
    },
  }
  return told
}

export const firstTextMs = ({ startedAt, firstAt }: Told) => (firstAt > 0 ? firstAt - startedAt : Number.NaN)

/** Throws if this is not what the server has sent. */
export function checkText({ pieces }: Told, expected: string): void {
  const text = pieces.join('')
  if (text.length !== expected.length)
    throw new Error(`the text has ${text.length} characters where ${expected.length} were sent`)
  if (hash(text) !== hash(expected)) throw new Error('the text is not the one that was sent')
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex')

/** Calls of one round may run in any order, but each once and with its own input. */
export function checkCalls({ calls }: Told, scenario: Scenario): void {
  const { callsPerRound } = scenario
  const expected = partsOf(scenario).filter((part) => part.type === 'call')
  if (calls.length !== expected.length)
    throw new Error(`${calls.length} calls were run where ${expected.length} were made`)
  for (let at = 0; at < expected.length; at += callsPerRound) {
    const ran = forms(calls.slice(at, at + callsPerRound))
    const made = forms(expected.slice(at, at + callsPerRound))
    if (ran.join() !== made.join())
      throw new Error(`other calls were run than the model made: ${brief(ran, made)}`)
  }
}

export function checkPartials({ partials }: Told, scenario: Scenario): void {
  const content = partsOf(scenario).find((part) => part.type === 'call')?.input.content
  const length = typeof content === 'string' ? content.length : 0
  if (partials.longest !== length)
    throw new Error(`${partials.longest} characters of the argument were seen, of ${length}`)
}

const partsOf = ({ rounds, round }: Scenario) =>
  Array.from({ length: rounds }, (_, index) => round(index)).flat()

export const textOf = (scenario: Scenario) =>
  partsOf(scenario)
    .filter((part) => part.type === 'text')
    .map(({ deltas }) => deltas.join(''))
    .join('')

function forms(calls: readonly { name: string; input: Readonly<Record<string, unknown>> }[]): string[] {
  return calls
    .map(({ name, input }) => `${name} ${JSON.stringify(Object.entries(input).toSorted())}`)
    .toSorted()
}

function brief(ran: readonly string[], made: readonly string[]): string {
  const at = ran.findIndex((form, index) => form !== made[index])
  return `${ran[at]?.slice(0, 80)} instead of ${made[at]?.slice(0, 80)}`
}
