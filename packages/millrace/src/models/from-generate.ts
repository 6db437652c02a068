import type {
  FinishReason,
  JsonObject,
  Model,
  ModelCapabilities,
  ModelEvent,
  ModelRequest,
  OptionTable,
  Problem,
  Usage,
} from '../protocol/index.ts'
import {
  anObject,
  capabilitiesProblem,
  checkOptions,
  checkUsage,
  closest,
  invalidInput,
  isObject,
  kindOf,
  MillraceError,
  messageOf,
  oneOf,
  someText,
  toolCall,
} from '../protocol/index.ts'

/**
 * A tool call as the function returns it: with its input, or with its arguments as the model wrote
 * them. A missing id is generated: `call_1`, `call_2`, …
 */
interface GeneratedCall {
  readonly name: string
  readonly id?: string | undefined
  readonly input?: JsonObject | undefined
  readonly arguments?: string | undefined
}

interface GeneratedAnswer {
  readonly text?: string | undefined
  readonly reasoning?: string | undefined
  readonly calls?: readonly GeneratedCall[] | undefined
  /** Default: `tool-calls` if there are calls, else `stop`. */
  readonly finish?: FinishReason | undefined
  readonly usage?: Partial<Usage> | undefined
  readonly metadata?: JsonObject | undefined
}

/** Returns the whole answer at once: its text, or an object with more. */
export type Generate = (
  request: ModelRequest,
  options: { readonly signal: AbortSignal },
) => string | GeneratedAnswer | PromiseLike<string | GeneratedAnswer>

export interface GenerateOptions {
  readonly id?: string | undefined
  readonly provider?: string | undefined
  /** Default: tools only. */
  readonly capabilities?: Partial<Omit<ModelCapabilities, 'streaming'>> | undefined
}

const optionTable: OptionTable<GenerateOptions> = {
  id: someText,
  provider: someText,
  capabilities: capabilitiesProblem,
}

/**
 * Makes a model from a function that does not stream. Its answer arrives as one delta, then its
 * calls, then `done`. An error that the function throws fails the round unchanged; an invalid
 * return value fails it with `llm_error`.
 */
export function fromGenerate(generate: Generate, options: GenerateOptions = {}): Model {
  const op = 'fromGenerate'
  if (typeof generate !== 'function')
    throw invalidInput(
      op,
      `fromGenerate() takes a function such as async (request) => 'text', not ${kindOf(generate)}`,
    )
  if (!isObject(options as unknown))
    throw invalidInput(op, `the options of fromGenerate() must be an object, not ${kindOf(options)}`)
  checkOptions(options, optionTable, { op, what: 'the option of fromGenerate()' })
  const { id = 'generate', provider = 'generate', capabilities } = options
  let count = 0

  function* callEvents({ name, id, input, arguments: written }: GeneratedCall, wasCut: boolean) {
    const callId = id ?? `call_${++count}`
    const raw = written ?? JSON.stringify(input ?? {})
    const call = toolCall({ callId, name, raw })
    yield { type: 'tool-input-start', callId, name } satisfies ModelEvent
    if (raw) yield { type: 'tool-input', callId, delta: raw } satisfies ModelEvent
    // Cut off in the middle of the arguments: the call is incomplete, so it must not run.
    if (!(wasCut && (call.problem !== undefined || raw.trim() === ''))) yield call
  }

  return {
    id,
    provider,
    capabilities: {
      tools: true,
      images: false,
      files: false,
      reasoning: false,
      structuredOutput: false,
      ...capabilities,
      streaming: false,
    },
    async *stream(request, { signal }) {
      signal.throwIfAborted()
      const generated: unknown = await generate(request, { signal })
      signal.throwIfAborted()
      const { text, reasoning, calls = [], finish, usage, metadata } = checkAnswer(generated)
      if (reasoning) {
        yield { type: 'reasoning', text: reasoning }
        yield { type: 'part-end', part: 'reasoning' }
      }
      if (text) yield { type: 'text', text }
      const cut = finish === 'length' || finish === 'content-filter' || finish === 'refusal'
      for (const call of calls) yield* callEvents(call, cut)
      yield {
        type: 'done',
        finish: finish ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
        ...(usage && { usage: checkUsage(usage) }),
        ...(metadata && { metadata }),
      }
    },
  }
}

const stringProblem = (value: unknown): Problem =>
  typeof value !== 'string' && `must be a string, not ${kindOf(value)}`

const answerTable: OptionTable<GeneratedAnswer> = {
  text: stringProblem,
  reasoning: stringProblem,
  calls: (value) => !Array.isArray(value) && `must be an array, not ${kindOf(value)}`,
  finish: oneOf('stop', 'tool-calls', 'length', 'content-filter', 'refusal', 'other'),
  usage: anObject,
  metadata: jsonObject,
}

const callTable: OptionTable<GeneratedCall> = {
  name: someText,
  id: someText,
  input: jsonObject,
  arguments: (value) =>
    typeof value !== 'string' &&
    `must be the arguments as JSON text, not ${kindOf(value)}: pass an object as 'input'`,
}

/** Throws `llm_error` if the value is not a valid answer. */
function checkAnswer(value: unknown): GeneratedAnswer {
  if (typeof value === 'string') return { text: value }
  if (isAnswer(value)) return value
  throw invalidAnswer(`must be a string or an object such as { text, calls }, not ${kindOf(value)}`)
}

function isAnswer(value: unknown): value is GeneratedAnswer {
  if (!isObject(value)) return false
  if (Symbol.asyncIterator in value)
    throw invalidAnswer('is a stream: implement Model with stream() for a function that streams')
  checkFields(value, answerTable, '')
  const calls: unknown[] = Array.isArray(value.calls) ? value.calls : []
  for (const [index, call] of calls.entries()) {
    const at = `calls[${index}]`
    if (!isObject(call))
      throw invalidAnswer(`: ${at} must be an object such as { name, input }, not ${kindOf(call)}`)
    checkFields(call, callTable, `${at}.`)
    if (call.name === undefined) throw invalidAnswer(`: ${at} has no name`)
    if (call.input !== undefined && call.arguments !== undefined)
      throw invalidAnswer(`: ${at} has both input and arguments: pass one of them`)
  }
  return true
}

function checkFields(
  value: Readonly<Record<string, unknown>>,
  table: Record<string, (value: unknown) => Problem>,
  at: string,
): void {
  for (const [key, field] of Object.entries(value)) {
    if (!Object.hasOwn(table, key)) {
      const suggestion = closest(key, Object.keys(table))
      throw invalidAnswer(`: ${at}${key} does not exist${suggestion ? `: did you mean ${suggestion}?` : ''}`)
    }
    const problem = field !== undefined && table[key]?.(field)
    if (problem) throw invalidAnswer(`: ${at}${key} ${problem}`)
  }
}

function jsonObject(value: unknown): Problem {
  if (!isObject(value)) return anObject(value)
  try {
    JSON.stringify(value)
    return undefined
  } catch (error) {
    return `cannot be serialized as JSON (${messageOf(error)})`
  }
}

function invalidAnswer(problem: string): MillraceError {
  const message = `the return value of the fromGenerate() function${problem.startsWith(':') ? '' : ' '}${problem}`
  return new MillraceError({ op: 'model.stream', code: 'llm_error', message })
}
