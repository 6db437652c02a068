/**
 * Words as a model sends them: a space and two to five letters, with occasional line breaks, quotes
 * and accents.
 */
const words =
  ' the| of| and| to| in| is| it| was| for| on| are| with| as| his| they| at| be| this| from| have| or| by| one| had| not| but| what| all| were| when| we| there| can| an| your| which| said| if| do| will| each| about| how| up| out| them| then| she| many| some| so| these| would| other| into| has| more| her| two| like| him| see| time| could| no| make| than| been| its| who| now| people| my| made| over| did| down| only| way| find| use| may| water| long| café| naïve| "so"| day,| end.|.\n\n'
    .split('|')
    .filter((word) => word.length >= 3 && word.length <= 6)

/** The same numbers on every machine, between 0 and 1. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** `count` deltas of a text. */
export function wordDeltas(count: number, seed = 1): string[] {
  const next = numbers(seed)
  return Array.from({ length: count }, () => words[Math.floor(next() * words.length)] ?? '')
}

/**
 * Source code, so that its JSON is full of escapes, as when a model writes a file. Exactly `length`
 * characters, all ASCII.
 */
export function sourceCode(length: number): string {
  const lines: string[] = []
  let size = 0
  for (let line = 1; size < length; line++) {
    const text = `  if (input.part${line} > ${line * 7}) return "step ${line}" // continue\n`
    lines.push(text)
    size += text.length
  }
  return lines.join('').slice(0, length)
}

/** A tool that the models call. Only data, so that the server needs no package. */
export interface ToolSchema {
  readonly name: string
  readonly description: string
  readonly jsonSchema: Readonly<Record<string, unknown>>
}

const text = (description: string) => ({ type: 'string', description })

function schema(name: string, description: string, properties: Record<string, object>): ToolSchema {
  return {
    name,
    description,
    jsonSchema: {
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    },
  }
}

export const lookUpOrder = schema('look_up_order', 'Finds an order by its id', {
  id: text('The id of the order'),
})
export const getWeather = schema('get_weather', 'Returns the weather of a city', {
  city: text('The name of the city'),
  days: { type: 'integer', description: 'How many days to look ahead' },
})
export const convertPrice = schema('convert_price', 'Converts a price', {
  amount: { type: 'number', description: 'The amount' },
  from: text('The currency it is in'),
  to: text('The currency to convert to'),
})
export const writeFile = schema('write_file', 'Writes a file', {
  path: text('The path of the file'),
  content: text('The content of the file'),
})
export const slowSearch = schema('slow_search', 'Searches in many places', {
  query: text('What to look for'),
})

/** A piece of an answer, cut into the deltas of the wire. */
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

/**
 * A conversation as the server plays it: its answer in each round, once all earlier tool calls have
 * results.
 */
export interface Scenario {
  readonly rounds: number
  readonly callsPerRound: number
  readonly tools: readonly ToolSchema[]
  /** Whether no two frames look alike. */
  readonly isVaried?: boolean
  /** From 0. */
  round(index: number): readonly Part[]
}

const prose = (count: number, seed = 1): TextPart => ({ type: 'text', deltas: wordDeltas(count, seed) })

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
    round: (index) => (index === 0 ? first : [prose(answerDeltas, 2)]),
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

/** A placeholder for the time at which the server writes the delta: 18 digits of nanoseconds. */
export const stampMark = (index: number) => `~stamp~${String(index).padStart(10, '0')}~`
export const stampLength = 18

const scenarios: Record<string, (...sizes: number[]) => Scenario> = {
  /** An answer. */
  text: (deltas = 20) => answerOnly([prose(deltas)]),
  /** An answer whose frames never look alike. */
  varied: (deltas = 20) => ({ ...answerOnly([prose(deltas)]), isVaried: true }),
  /** Three tool calls at once, then an answer. */
  loop: (deltas = 20) =>
    twoRounds(
      [lookUpOrder, getWeather, convertPrice],
      [
        prose(5),
        call(lookUpOrder, { id: 'ORD-42' }),
        call(getWeather, { city: 'Oslo', days: 3 }),
        call(convertPrice, { amount: 12.5, from: 'EUR', to: 'NOK' }),
      ],
      deltas,
    ),
  /** A tool call whose arguments arrive in 16-byte deltas. */
  arguments: (bytes = 1000) => twoRounds([writeFile], [writtenFile(bytes)], 5),
  /** Deltas at a steady pace; each is the time at which it was written. */
  streams: (deltas = 5, everyMs = 10) =>
    answerOnly([
      { type: 'text', everyMs, deltas: Array.from({ length: deltas }, (_, at) => `${stampMark(at)} `) },
    ]),
  /** Rounds of one tool call each, then an answer. */
  rounds: (rounds = 3) => ({
    rounds: rounds + 1,
    callsPerRound: 1,
    tools: [lookUpOrder],
    round: (index) =>
      index < rounds
        ? [prose(4, index + 1), call(lookUpOrder, { id: `ORD-${index + 1}` })]
        : [prose(20, index + 1)],
  }),
  /** A tool call that is complete early, and one after it whose arguments take `ms` to arrive. */
  overlap: (ms = 50) =>
    twoRounds(
      [slowSearch, writeFile],
      [
        prose(3),
        call(slowSearch, { query: 'all of it' }),
        call(writeFile, { path: 'notes.md', content: sourceCode(640) }, 16, ms / 42),
      ],
    ),
}

/** Names are like `text-20000`; undefined for an unknown name. */
export function scenarioOf(name: string): Scenario | undefined {
  const [kind = '', ...sizes] = name.split('-')
  const numbers = sizes.map(Number)
  if (!Object.hasOwn(scenarios, kind) || numbers.some((size) => !Number.isInteger(size) || size < 1)) return
  return scenarios[kind]?.(...numbers)
}
