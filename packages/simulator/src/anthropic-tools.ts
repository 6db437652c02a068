import type { JsonObject, JsonValue } from 'millrace'
import { isObject } from 'millrace/internal'
import type { ProviderToolPart } from './scenario.ts'

/** Tools that Anthropic runs. The block types of their results derive from the names. */
const serverTools = [
  'web_search',
  'web_fetch',
  'code_execution',
  'bash_code_execution',
  'text_editor_code_execution',
]

/**
 * The blocks of a provider tool: the use, and the result if the script has one. Other names are MCP
 * tools.
 */
export function serverToolBlocks(
  part: ProviderToolPart,
  nextId: (prefix: string) => string,
): { readonly use: JsonObject & { readonly input: JsonValue }; readonly result?: JsonObject } {
  const { name, input, output } = part
  if (!serverTools.includes(name)) {
    const id = nextId('mcptoolu_01')
    const use = { type: 'mcp_tool_use', id, name, server_name: 'simulator', input }
    if (output === undefined) return { use }
    const content = isBlocks(output) ? output : [{ type: 'text', text: textOf(output) }]
    return { use, result: { type: 'mcp_tool_result', tool_use_id: id, is_error: part.isError, content } }
  }
  const id = nextId('srvtoolu_01')
  const use = { type: 'server_tool_use', id, name, input }
  if (output === undefined) return { use }
  return { use, result: { type: `${name}_tool_result`, tool_use_id: id, content: contentOf(part, output) } }
}

/** Output in the provider's format is passed through; anything else is converted to it. */
function contentOf({ name, isError }: ProviderToolPart, output: JsonValue): JsonValue {
  if (isError)
    return {
      type: `${name}_tool_result_error`,
      error_code: typeof output === 'string' ? output : 'unavailable',
    }
  if (isBlocks(output) || (isObject(output) && typeof output.type === 'string')) return output
  const text = textOf(output)
  if (name === 'web_search')
    return [
      {
        type: 'web_search_result',
        title: text,
        url: 'https://example.com/',
        encrypted_content: 'EqgfSim',
        page_age: null,
      },
    ]
  if (name === 'web_fetch') {
    const source = { type: 'text', media_type: 'text/plain', data: text }
    const content = { type: 'document', source, title: null, citations: null }
    return { type: 'web_fetch_result', url: 'https://example.com/', content, retrieved_at: null }
  }
  return { type: `${name}_result`, stdout: text, stderr: '', return_code: 0, content: [] }
}

function isBlocks(value: JsonValue): boolean {
  return Array.isArray(value) && value.every((block) => isObject(block) && typeof block.type === 'string')
}

export function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
