import { messageOf } from './errors.ts'
import type { ToolCallEvent } from './events.ts'
import { isJsonObject, type JsonObject, type JsonValue, kindOf } from './json.ts'
import type { ProviderData } from './messages.ts'
import { maxJsonDepth } from './partial-json.ts'

/**
 * What a model wrote as the arguments of a call, made into the input of that call. Total: a text that cannot be used is an
 * empty input with a `problem`, a short sentence from which the model can mend it.
 */
export function parseArguments(
  raw: string,
):
  | { readonly input: JsonObject; readonly problem?: undefined }
  | { readonly input: JsonObject; readonly problem: string } {
  // Providers send nothing at all, or white space, for a tool without arguments.
  if (raw.trim() === '') return { input: {} }
  let value: JsonValue
  try {
    value = JSON.parse(raw)
  } catch (error) {
    return refuse(`the arguments are not valid JSON: ${messageOf(error)}`)
  }
  if (!isJsonObject(value)) return refuse(`the arguments must be a JSON object, not ${kindOf(value)}`)
  const problem = flawIn(value)
  return problem === undefined ? { input: value } : refuse(problem)
}

/** The event of a call whose arguments the wire has closed. */
export function toolCall(call: {
  readonly callId: string
  readonly name: string
  readonly raw: string
  readonly opaque?: ProviderData | undefined
}): ToolCallEvent {
  const { input, problem } = parseArguments(call.raw)
  return {
    type: 'tool-call',
    callId: call.callId,
    name: call.name,
    input,
    ...(problem !== undefined && { problem, raw: call.raw }),
    ...(call.opaque !== undefined && { opaque: call.opaque }),
  }
}

const longestProblem = 300

function refuse(problem: string) {
  const short = problem.length > longestProblem ? `${problem.slice(0, longestProblem - 1)}…` : problem
  // The cut here, or the one JSON.parse makes when it quotes the text, may halve a surrogate pair.
  return { input: {}, problem: short.toWellFormed() }
}

interface Place {
  readonly node: readonly JsonValue[] | JsonObject
  readonly depth: number
  readonly key: string | number
  readonly parent: Place | undefined
}

/** What `JSON.parse` lets through and the rest of the way would not. Goes level by level, without recursion. */
function flawIn(root: JsonObject): string | undefined {
  const places: Place[] = [{ node: root, depth: 1, key: '', parent: undefined }]
  // The loop also visits what it adds.
  for (const parent of places) {
    if (parent.depth > maxJsonDepth) return `the arguments are nested deeper than ${maxJsonDepth} levels`
    const node = parent.node as JsonObject
    for (const key of Array.isArray(node) ? node.keys() : Object.keys(node)) {
      const value = node[key] as JsonValue
      // `1e999` is good JSON and becomes Infinity, which JSON.stringify would send on as null.
      if (typeof value === 'number' && !Number.isFinite(value)) {
        return `a number in the arguments is out of range: ${pathTo(parent, key)}`
      }
      if (typeof value === 'object' && value !== null) {
        places.push({ node: value, depth: parent.depth + 1, key, parent })
      }
    }
  }
  return undefined
}

function pathTo(parent: Place, key: string | number): string {
  const keys = [key]
  for (let at = parent; at.parent !== undefined; at = at.parent) keys.unshift(at.key)
  return keys.reduce<string>((path, next) => path + step(next, path === ''), '')
}

function step(key: string | number, first: boolean): string {
  if (typeof key === 'string' && /^[\w$-]+$/.test(key)) return first ? key : `.${key}`
  return `[${JSON.stringify(key)}]`
}
