import type { JsonObject, JsonValue, ProviderToolEvent } from '../../protocol/index.ts'
import { isObject, parseArguments } from '../../protocol/index.ts'

type Fields = Record<string, unknown>

/** A call that we run. */
export interface ItemCall {
  readonly callId: string
  readonly name: string
  /** The arguments as JSON; empty if the item has none yet. */
  readonly raw: string
  /** The item, if it is more than a plain call and must be sent back unchanged. */
  readonly data?: JsonValue
}

/**
 * The call in an item, if it is one:
 * - `function_call`: a plain call
 * - `custom_tool_call`: free text, passed to the tool as `{ input }`. Only if the request declares
 *   a custom tool with that name: xAI reports its own searches as finished calls of this type
 *   (`x_keyword_search`)
 * - `local_shell_call` and `shell_call`: a call to the tool `shell`, with the fields of its action
 *   (`command`, or `commands`)
 * - `apply_patch_call`: a call to the tool `apply_patch`, with its operation
 * - `mcp_approval_request`: a call to the tool `mcp_approval`, whose result says whether the
 *   provider may run its own tool
 * - `tool_search_call` with `execution: client`: a call to the tool `tool_search`, whose result
 *   lists the tools it found
 */
export function callOf(item: Fields, custom: ReadonlySet<string> = noNames): ItemCall | undefined {
  const callId = idOf(item)
  switch (item.type) {
    case 'function_call': {
      // The remaining fields (`namespace`, `caller`, …) are sent back with the call.
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
      return specialCall(item, callId, String(item.name ?? ''), { input: String(item.input ?? '') })
    case 'local_shell_call':
    case 'shell_call': {
      // In a provider container, the provider runs it.
      if (isObject(item.environment) && String(item.environment.type).startsWith('container'))
        return undefined
      const { type, ...action } = isObject(item.action) ? item.action : {}
      return specialCall(item, callId, 'shell', action)
    }
    case 'apply_patch_call':
      return specialCall(item, callId, 'apply_patch', isObject(item.operation) ? item.operation : {})
    case 'mcp_approval_request':
      return specialCall(item, callId, 'mcp_approval', {
        server: String(item.server_label ?? ''),
        tool: String(item.name ?? ''),
        arguments: parseText(item.type, String(item.arguments ?? '')),
      })
    case 'tool_search_call':
      if (item.execution !== 'client') return undefined
      return specialCall(item, callId, 'tool_search', isObject(item.arguments) ? item.arguments : {})
    default:
      return undefined
  }
}

function specialCall(item: Fields, callId: string, name: string, input: Fields): ItemCall {
  // Shell and patch calls must be sent back with their status; a custom call must not.
  const { status, ...rest } = item
  const data = item.type === 'custom_tool_call' ? rest : item
  return { callId, name, raw: JSON.stringify(input), data: data as JsonObject }
}

const noNames: ReadonlySet<string> = new Set()

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

/**
 * An item that is not a message, reasoning or a call of ours: a provider tool, a compaction, or a
 * future type.
 */
export function providerTool(item: Fields): ProviderToolEvent {
  const input = inputs.map((key) => item[key]).find(isPresent)
  const output = outputs.map((key) => item[key]).find(isPresent)
  const failed = item.status === 'failed' || isPresent(item.error)
  return {
    type: 'provider-tool',
    callId: idOf(item),
    name: typeof item.name === 'string' ? item.name : toolType(item),
    ...(input !== undefined && {
      input: typeof input === 'string' ? parseText(item.type, input) : (input as JsonValue),
    }),
    ...(output !== undefined && { output: output as JsonValue }),
    ...(failed && { isError: true, output: (item.error ?? output ?? null) as JsonValue }),
  }
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

/** MCP calls and xAI's own calls have JSON in a string; interpreter code is plain text. */
function parseText(type: unknown, text: string): JsonValue {
  const { input, problem } = parseArguments(text)
  return /^(mcp|custom)_/.test(String(type)) && problem === undefined ? input : text
}
