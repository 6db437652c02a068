import type { ToolSchema } from './tool-schemas.ts'
import { convertPrice, getWeather, lookUpOrder, slowSearch, writeFile } from './tool-schemas.ts'
import { sourceCode, wordDeltas } from './words.ts'

/** A piece of an answer, cut into the deltas that the wire tells it in. */
export interface TextPart {
  readonly type: 'text'
  readonly deltas: readonly string[]
  /** How long the provider takes before each delta. */
  readonly everyMs?: number
}

export interface CallPart {
  readonly type: 'call'
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly deltas: readonly string[]
  readonly everyMs?: number
}

export type Part = TextPart | CallPart

/** A conversation as the server plays it: what it says when all calls of the rounds before are answered. */
export interface Scenario {
  readonly rounds: number
  readonly callsPerRound: number
  readonly tools: readonly ToolSchema[]
  /** From 0. */
  round(index: number): readonly Part[]
}

const words = (count: number, seed = 1): TextPart => ({ type: 'text', deltas: wordDeltas(count, seed) })

function call(
  { name }: ToolSchema,
  input: Record<string, unknown>,
  pieceChars = 4,
  everyMs?: number,
): CallPart {
  const json = JSON.stringify(input)
  const deltas: string[] = []
  for (let at = 0; at < json.length; at += pieceChars) deltas.push(json.slice(at, at + pieceChars))
  return { type: 'call', name, input, deltas, ...(everyMs && { everyMs }) }
}

function answerOnly(parts: readonly Part[]): Scenario {
  return { rounds: 1, callsPerRound: 0, tools: [], round: () => parts }
}

function twoRounds(tools: readonly ToolSchema[], first: readonly Part[], answerDeltas = 20): Scenario {
  const callsPerRound = first.filter(({ type }) => type === 'call').length
  return {
    rounds: 2,
    callsPerRound,
    tools,
    round: (index) => (index === 0 ? first : [words(answerDeltas, 2)]),
  }
}

/** The arguments, in JSON, are `size` characters. */
function writtenFile(size: number): CallPart {
  const path = 'src/steps.ts'
  const room = size - JSON.stringify({ path, content: '' }).length
  // Escapes take two characters of JSON for one of the content.
  let content = sourceCode(room)
  while (JSON.stringify(content).length - 2 > room)
    content = content.slice(0, content.length - Math.ceil((JSON.stringify(content).length - 2 - room) / 2))
  content += 'x'.repeat(room - (JSON.stringify(content).length - 2))
  return call(writeFile, { path, content }, 16)
}

/** Where the server puts the time at which it wrote a delta: 18 digits of nanoseconds, known only then. */
export const stampMark = (index: number) => `~stamp~${String(index).padStart(10, '0')}~`
export const stampLength = 18

const scenarios: Record<string, (...sizes: number[]) => Scenario> = {
  /** An answer of so many deltas. */
  text: (deltas = 20) => answerOnly([words(deltas)]),
  /** Three tools at once, then an answer of so many deltas. */
  loop: (deltas = 20) =>
    twoRounds(
      [lookUpOrder, getWeather, convertPrice],
      [
        words(5),
        call(lookUpOrder, { id: 'ORD-42' }),
        call(getWeather, { city: 'Oslo', days: 3 }),
        call(convertPrice, { amount: 12.5, from: 'EUR', to: 'NOK' }),
      ],
      deltas,
    ),
  /** A call with arguments of so many bytes, in deltas of 16. */
  arguments: (bytes = 1000) => twoRounds([writeFile], [writtenFile(bytes)], 5),
  /** So many deltas, one in so many milliseconds, each of which says when it was written. */
  streams: (deltas = 5, everyMs = 10) =>
    answerOnly([
      { type: 'text', everyMs, deltas: Array.from({ length: deltas }, (_, at) => `${stampMark(at)} `) },
    ]),
  /** So many rounds of one call each, then an answer. */
  rounds: (rounds = 3) => ({
    rounds: rounds + 1,
    callsPerRound: 1,
    tools: [lookUpOrder],
    round: (index) =>
      index < rounds
        ? [words(4, index + 1), call(lookUpOrder, { id: `ORD-${index + 1}` })]
        : [words(20, index + 1)],
  }),
  /** A call that is complete early, and one after it whose arguments take so many milliseconds to arrive. */
  overlap: (ms = 50) =>
    twoRounds(
      [slowSearch, writeFile],
      [
        words(3),
        call(slowSearch, { query: 'all of it' }),
        call(writeFile, { path: 'notes.md', content: sourceCode(640) }, 16, ms / 42),
      ],
    ),
}

/** `text-20000` and the like; undefined if there is none of that name. */
export function scenarioOf(name: string): Scenario | undefined {
  const [kind = '', ...sizes] = name.split('-')
  const numbers = sizes.map(Number)
  if (!Object.hasOwn(scenarios, kind) || numbers.some((size) => !Number.isInteger(size) || size < 1)) return
  return scenarios[kind]?.(...numbers)
}
