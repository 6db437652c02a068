import type { ContextUse, JsonObject, ModelRequest, RunState } from '../protocol/index.ts'
import { sizeOf } from './as-text.ts'

/** What a request consists of, in estimated tokens. */
export interface RequestSize {
  /** The system prompt, with the schema of the answer. */
  readonly system: number
  readonly tools: number
  /** Messages of users and answers. */
  readonly history: number
  /** Results of tools. */
  readonly results: number
}

/** A rule of thumb. English prose has a little more, code and other languages have less. */
const charsPerToken = 4

/** The lengths of JSON schemas. Each request describes its tools in new objects with the same schemas. */
const schemaChars = new WeakMap<JsonObject, number>()

/**
 * Costs one lookup for each message and each tool: only what was never sent before is measured.
 */
export function sizeOfRequest({ messages, tools, output }: ModelRequest): RequestSize {
  let system = output ? charsOfSchema(output) : 0
  let history = 0
  let results = 0
  for (const message of messages) {
    const chars = sizeOf(message)
    if (message.role === 'system') system += chars
    else if (message.role === 'tool') results += chars
    else history += chars
  }
  let toolChars = 0
  for (const { name, description, inputSchema } of tools)
    toolChars += name.length + description.length + charsOfSchema(inputSchema)
  return {
    system: estimateOutput(system),
    tools: estimateOutput(toolChars),
    history: estimateOutput(history),
    results: estimateOutput(results),
  }
}

function charsOfSchema(schema: JsonObject): number {
  let chars = schemaChars.get(schema)
  if (chars === undefined) {
    chars = JSON.stringify(schema).length
    schemaChars.set(schema, chars)
  }
  return chars
}

/** The estimated tokens of a request, from its characters alone. */
export function estimateRequest(request: ModelRequest): number {
  const { system, tools, history, results } = sizeOfRequest(request)
  return Math.max(1, system + tools + history + results)
}

/**
 * The input tokens of a request: what the provider reported for the conversation up to the last
 * answer, plus an estimate of what follows it. An estimate of everything if that is not known.
 */
export function estimateInput(
  request: ModelRequest,
  { contextTokens, finish }: Pick<RunState, 'contextTokens' | 'finish'>,
): number {
  // The last answer is not part of `contextTokens` if it was interrupted.
  if (contextTokens === undefined || finish === 'interrupted') return estimateRequest(request)
  const { messages } = request
  let chars = 0
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]
    if (!message || message.role === 'assistant') break
    if (message.role !== 'system') chars += sizeOf(message)
  }
  return contextTokens + estimateOutput(chars)
}

/**
 * Scales the parts to what the provider reported. The parts always add up to `tokens`. After a
 * round, `size.history` and `tokens` include its output.
 */
export function contextUse(
  size: RequestSize,
  tokens: number,
  { limit, compactAt }: { readonly limit?: number | undefined; readonly compactAt?: number | undefined },
): ContextUse {
  const { system, tools, results, history } = size
  const total = system + tools + results + history
  // Rounds sums instead of parts, so that no token is lost or added.
  const upTo = (sum: number) => (total === 0 ? 0 : Math.floor((sum * tokens) / total))
  const toolsStart = upTo(system)
  const resultsStart = upTo(system + tools)
  const historyStart = upTo(system + tools + results)
  return {
    tokens,
    ...(limit !== undefined && { limit }),
    ...(compactAt !== undefined && { compactAt }),
    system: toolsStart,
    tools: resultsStart - toolsStart,
    history: tokens - historyStart,
    results: historyStart - resultsStart,
  }
}

/** The estimated tokens of a text with this many characters. */
export function estimateOutput(chars: number): number {
  return Math.ceil(chars / charsPerToken)
}
