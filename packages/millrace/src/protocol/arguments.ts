import { messageOf } from './errors.ts'
import type { ToolCallEvent } from './events.ts'
import { isJsonObject, type JsonObject, type JsonValue, kindOf } from './json.ts'
import type { ProviderData } from './messages.ts'
import { maxJsonDepth } from './partial-json.ts'

/**
 * Parses the arguments a model wrote for a tool call. Never throws: unusable text becomes an empty
 * input with a `problem`, a short sentence that lets the model correct itself.
 */
export function parseArguments(
  raw: string,
):
  | { readonly input: JsonObject; readonly problem?: undefined }
  | { readonly input: JsonObject; readonly problem: string } {
  // Providers send nothing at all, or whitespace, for a tool without arguments.
  if (raw.trim() === '') return { input: {} }
  let value: JsonValue
  try {
    value = JSON.parse(raw)
  } catch (error) {
    return invalidArguments(`the arguments are not valid JSON: ${messageOf(error)}`)
  }
  if (!isJsonObject(value))
    return invalidArguments(`the arguments must be a JSON object, not ${kindOf(value)}`)
  const problem = findProblem(value)
  return problem === undefined ? { input: value } : invalidArguments(problem)
}

/** The `tool-call` event for a call whose arguments are complete. */
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

const maxProblemLength = 300

function invalidArguments(problem: string) {
  const short = problem.length > maxProblemLength ? `${problem.slice(0, maxProblemLength - 1)}…` : problem
  // The cut above, or the one JSON.parse makes when it quotes the text, may split a surrogate pair.
  return { input: {}, problem: short.toWellFormed() }
}

interface Visit {
  readonly node: readonly JsonValue[] | JsonObject
  readonly depth: number
  readonly key: string | number
  readonly parent: Visit | undefined
}

/**
 * Finds what `JSON.parse` accepts but later steps cannot handle. Breadth-first, so that deep
 * nesting cannot overflow the stack.
 */
function findProblem(root: JsonObject): string | undefined {
  const visits: Visit[] = [{ node: root, depth: 1, key: '', parent: undefined }]
  // The loop also visits the items it pushes.
  for (const parent of visits) {
    if (parent.depth > maxJsonDepth) return `the arguments are nested deeper than ${maxJsonDepth} levels`
    const node = parent.node as JsonObject
    for (const key of Array.isArray(node) ? node.keys() : Object.keys(node)) {
      const value = node[key] as JsonValue
      // `1e999` is valid JSON and becomes Infinity, which JSON.stringify would write as null.
      if (typeof value === 'number' && !Number.isFinite(value)) {
        return `a number in the arguments is out of range: ${pathTo(parent, key)}`
      }
      if (typeof value === 'object' && value !== null) {
        visits.push({ node: value, depth: parent.depth + 1, key, parent })
      }
    }
  }
  return undefined
}

function pathTo(parent: Visit, key: string | number): string {
  const keys = [key]
  for (let at = parent; at.parent !== undefined; at = at.parent) keys.unshift(at.key)
  return keys.reduce<string>((path, next) => path + step(next, path === ''), '')
}

function step(key: string | number, first: boolean): string {
  if (typeof key === 'string' && /^[\w$-]+$/.test(key)) return first ? key : `.${key}`
  return `[${JSON.stringify(key)}]`
}
