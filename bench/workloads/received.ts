import { createHash } from 'node:crypto'
import type { Listener } from '../contract.ts'
import type { Scenario } from '../server/scenario.ts'

/** What one use of a client received. */
export interface Received extends Listener {
  readonly pieces: string[]
  readonly calls: { readonly name: string; readonly input: Readonly<Record<string, unknown>> }[]
  readonly partials: { count: number; longest: number }
  /** In `performance.now()` time; 0 if no text came. */
  readonly startedAt: number
  firstAt: number
}

/** Does as little as possible while the clock runs; checks come later. */
export function newReceived(onText?: (piece: string) => void): Received {
  const received: Received = {
    pieces: [],
    calls: [],
    partials: { count: 0, longest: 0 },
    startedAt: performance.now(),
    firstAt: 0,
    text(piece) {
      if (received.firstAt === 0) received.firstAt = performance.now()
      received.pieces.push(piece)
      onText?.(piece)
    },
    partial(chars) {
      received.partials.count++
      if (chars > received.partials.longest) received.partials.longest = chars
    },
  }
  return received
}

export const firstTextMs = ({ startedAt, firstAt }: Received) =>
  firstAt > 0 ? firstAt - startedAt : Number.NaN

/** Throws if this is not what the server sent. */
export function checkText({ pieces }: Received, expected: string): void {
  const text = pieces.join('')
  if (text.length !== expected.length)
    throw new Error(`the text has ${text.length} characters, expected ${expected.length}`)
  if (hash(text) !== hash(expected)) throw new Error('the text is not the one that was sent')
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex')

/** Tool calls of one round may run in any order, but each once and with its own input. */
export function checkCalls({ calls }: Received, scenario: Scenario): void {
  const { callsPerRound } = scenario
  const expected = partsOf(scenario).filter((part) => part.type === 'call')
  if (calls.length !== expected.length)
    throw new Error(`${calls.length} tool calls ran, expected ${expected.length}`)
  for (let at = 0; at < expected.length; at += callsPerRound) {
    const ran = forms(calls.slice(at, at + callsPerRound))
    const made = forms(expected.slice(at, at + callsPerRound))
    if (ran.join() !== made.join())
      throw new Error(`the tool calls differ from those of the model: ${brief(ran, made)}`)
  }
}

export function checkPartials({ partials }: Received, scenario: Scenario): void {
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
