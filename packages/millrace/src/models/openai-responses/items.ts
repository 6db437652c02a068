import type { JsonObject, JsonValue, ProviderToolEvent } from '../../protocol/index.ts'
import { isObject, parseArguments } from '../../protocol/index.ts'

type Fields = Record<string, unknown>

/** A call that is ours to run. */
export interface ItemCall {
  readonly callId: string
  readonly name: string
  /** The arguments as JSON; empty if the item has none of its own yet. */
  readonly raw: string
  /** The item, where it is more than a plain call and must come back as it was. */
  readonly data?: JsonValue
}

/**
 * The call in an item, if it is one:
 * - `function_call`, as everywhere
 * - `custom_tool_call`: free text, given to the tool as `{ input }`. Only if the request declares a custom tool of that name: xAI
 *   reports its own searches as finished calls of this type (`x_keyword_search`)
 * - `local_shell_call` and `shell_call`: a call of the tool `shell`, with the fields of its action (`command`, or `commands`)
 * - `apply_patch_call`: a call of the tool `apply_patch`, with its operation
 * - `mcp_approval_request`: a call of the tool `mcp_approval`, whose result says whether the provider may run its own
 * - `tool_search_call` whose `execution` is `client`: a call of the tool `tool_search`, whose result lists the tools it found
 */
export function callOf(item: Fields, custom: ReadonlySet<string> = none): ItemCall | undefined {
  const callId = idOf(item)
  switch (item.type) {
    case 'function_call': {
      // The rest goes back with the call: `namespace`, `caller` and whatever else there is.
      const { type, id, status, call_id, name, arguments: raw, ...rest } = item
      return {
        callId,
        name: String(name ?? ''),
        raw: typeof raw === 'string' ? raw : '',
        ...(Object.keys(rest).length > 0 && { data: { type: 'function_call', ...rest } as JsonObject }),
      }
    }
    case 'custom_tool_call':
      if (!custom.has(String(item.name))) return undefined
      return special(item, callId, String(item.name ?? ''), { input: String(item.input ?? '') })
    case 'local_shell_call':
    case 'shell_call': {
      // In a container of the provider's, it runs it itself.
      if (isObject(item.environment) && String(item.environment.type).startsWith('container'))
        return undefined
      const { type, ...action } = isObject(item.action) ? item.action : {}
      return special(item, callId, 'shell', action)
    }
    case 'apply_patch_call':
      return special(item, callId, 'apply_patch', isObject(item.operation) ? item.operation : {})
    case 'mcp_approval_request':
      return special(item, callId, 'mcp_approval', {
        server: String(item.server_label ?? ''),
        tool: String(item.name ?? ''),
        arguments: read(item.type, String(item.arguments ?? '')),
      })
    case 'tool_search_call':
      if (item.execution !== 'client') return undefined
      return special(item, callId, 'tool_search', isObject(item.arguments) ? item.arguments : {})
    default:
      return undefined
  }
}

function special(item: Fields, callId: string, name: string, input: Fields): ItemCall {
  // Shells and patches must have a status when they come back; a custom call has no such field there.
  const { status, ...rest } = item
  const data = item.type === 'custom_tool_call' ? rest : item
  return { callId, name, raw: JSON.stringify(input), data: data as JsonObject }
}

const none: ReadonlySet<string> = new Set()

/** xAI sends an empty `call_id`. */
export function idOf({ call_id: callId, id }: Fields): string {
  return String(callId || id || '')
}

/** `web_search` for `web_search_call`, `tool_search` for `tool_search_output`. */
export function toolType({ type }: Fields): string {
  return String(type).replace(/(_call)?(_output)?$/, '')
}

const inputs = ['action', 'arguments', 'queries', 'code', 'input'] as const
const outputs = ['output', 'outputs', 'results', 'result', 'tools'] as const

/** An item that is neither a message, nor reasoning, nor a call of ours: a provider tool, a compaction, or any type there will be. */
export function providerTool(item: Fields): ProviderToolEvent {
  const input = inputs.map((key) => item[key]).find(isThere)
  const output = outputs.map((key) => item[key]).find(isThere)
  const failed = item.status === 'failed' || isThere(item.error)
  return {
    type: 'provider-tool',
    callId: idOf(item),
    name: typeof item.name === 'string' ? item.name : toolType(item),
    ...(input !== undefined && {
      input: typeof input === 'string' ? read(item.type, input) : (input as JsonValue),
    }),
    ...(output !== undefined && { output: output as JsonValue }),
    ...(failed && { isError: true, output: (item.error ?? output ?? null) as JsonValue }),
  }
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

/** MCP calls and xAI's own calls have JSON in a string; the code of an interpreter is plain text. */
function read(type: unknown, text: string): JsonValue {
  const { input, problem } = parseArguments(text)
  return /^(mcp|custom)_/.test(String(type)) && problem === undefined ? input : text
}
