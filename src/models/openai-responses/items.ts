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
 * - `custom_tool_call`: free text, given to the tool as `{ input }`
 * - `local_shell_call` and `shell_call`: a call of the tool `shell`, with the fields of its action (`command`, or `commands`)
 * - `apply_patch_call`: a call of the tool `apply_patch`, with its operation
 * - `mcp_approval_request`: a call of the tool `mcp_approval`, whose result says whether the provider may run its own
 */
export function callOf(item: Fields): ItemCall | undefined {
  const callId = String(item.call_id ?? item.id ?? '')
  switch (item.type) {
    case 'function_call':
      return {
        callId,
        name: String(item.name ?? ''),
        raw: typeof item.arguments === 'string' ? item.arguments : '',
        // Tools in a namespace have two names.
        ...(typeof item.namespace === 'string' && { data: { namespace: item.namespace } }),
      }
    case 'custom_tool_call':
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

/** An item of a tool that the provider runs: a search, a sandbox, a picture, a server of MCP. */
export function isProviderTool(item: Fields): boolean {
  const type = String(item.type)
  return callOf(item) === undefined && (/_call(_output)?$/.test(type) || type.startsWith('mcp_'))
}

const inputs = ['action', 'arguments', 'queries', 'code', 'input'] as const
const outputs = ['output', 'outputs', 'results', 'result', 'tools'] as const

/** What there is to see of it so far. Its name is that of the item, or of the tool within a server of MCP. */
export function providerTool(item: Fields): ProviderToolEvent {
  const input = inputs.map((key) => item[key]).find(isThere)
  const output = outputs.map((key) => item[key]).find(isThere)
  const failed = item.status === 'failed' || isThere(item.error)
  return {
    type: 'provider-tool',
    callId: String(item.call_id ?? item.id ?? ''),
    name: typeof item.name === 'string' ? item.name : String(item.type).replace(/_call(_output)?$/, ''),
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

/** The arguments of a call over MCP are JSON in a string; the code of an interpreter is just that. */
function read(type: unknown, text: string): JsonValue {
  const { input, problem } = parseArguments(text)
  return String(type).startsWith('mcp') && problem === undefined ? input : text
}
