import type { JsonObject, JsonValue } from 'millrace'
import { isObject } from 'millrace/internal'
import { textOf } from './anthropic-tools.ts'
import type { ProviderToolPart } from './scenario.ts'

/** A tool that OpenAI runs: its completed item, its initial item, and the events in between. */
export interface ProviderToolItem {
  readonly item: JsonObject
  readonly phases: { readonly first: JsonObject; readonly between: readonly JsonObject[] }
}

/**
 * `web_search`, `file_search`, `code_interpreter` and `image_generation` have their own items;
 * other names are MCP tools.
 */
export function providerToolItem(
  part: ProviderToolPart,
  nextId: (prefix: string) => string,
): ProviderToolItem {
  const status = part.isError ? 'failed' : 'completed'
  switch (part.name) {
    case 'web_search': {
      const action = { type: 'search', query: queryOf(part.input) }
      const head = { id: nextId('ws_'), type: 'web_search_call' }
      return item(head, { status, action }, { status: 'in_progress', action }, [
        'in_progress',
        'searching',
        'completed',
      ])
    }
    case 'file_search': {
      const queries = [queryOf(part.input)]
      const results = Array.isArray(part.output) ? part.output : null
      const head = { id: nextId('fs_'), type: 'file_search_call' }
      return item(head, { status, queries, results }, { status: 'in_progress', queries: [], results: null }, [
        'in_progress',
        'searching',
        'completed',
      ])
    }
    case 'code_interpreter':
    case 'code_execution':
      return codeInterpreter(part, nextId('ci_'), status)
    case 'image_generation': {
      const result = typeof part.output === 'string' ? part.output : null
      const head = { id: nextId('ig_'), type: 'image_generation_call' }
      return item(head, { status, result }, { status: 'in_progress', result: null }, [
        'in_progress',
        'generating',
        'completed',
      ])
    }
    default:
      return mcpCall(part, nextId('mcp_'), status)
  }
}

function item(
  head: { id: string; type: string },
  last: JsonObject,
  first: JsonObject,
  events: string[],
): ProviderToolItem {
  return {
    item: { ...head, ...last },
    phases: {
      first: { ...head, ...first },
      between: events.map((event) => ({ type: `response.${head.type}.${event}` })),
    },
  }
}

function codeInterpreter({ input, output }: ProviderToolPart, id: string, status: string): ProviderToolItem {
  const code = isObject(input) && typeof input.code === 'string' ? input.code : textOf(input)
  const outputs =
    output === undefined ? null : Array.isArray(output) ? output : [{ type: 'logs', logs: textOf(output) }]
  const head = { id, type: 'code_interpreter_call', container_id: 'cntr_simulator' }
  const event = (name: string, fields: JsonObject = {}) => ({
    type: `response.code_interpreter_call${name}`,
    ...fields,
  })
  return {
    item: { ...head, status, code, outputs },
    phases: {
      first: { ...head, status: 'in_progress', code: '', outputs: null },
      between: [
        event('.in_progress'),
        event('_code.delta', { delta: code }),
        event('_code.done', { code }),
        event('.interpreting'),
        event('.completed'),
      ],
    },
  }
}

function mcpCall(
  { name, input, output, isError }: ProviderToolPart,
  id: string,
  status: string,
): ProviderToolItem {
  const args = textOf(input)
  const head = { id, type: 'mcp_call', approval_request_id: null, name, server_label: 'simulator' }
  const text = output === undefined ? null : textOf(output)
  const event = (name: string, fields: JsonObject = {}) => ({ type: `response.mcp_call${name}`, ...fields })
  return {
    item: {
      ...head,
      status,
      arguments: args,
      output: isError ? null : text,
      error: isError
        ? { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: text ?? '' }] }
        : null,
    },
    phases: {
      first: { ...head, status: 'in_progress', arguments: '', output: null, error: null },
      between: [
        event('.in_progress'),
        event('_arguments.delta', { delta: args }),
        event('_arguments.done', { arguments: args }),
        event(isError ? '.failed' : '.completed'),
      ],
    },
  }
}

function queryOf(input: JsonValue): string {
  return isObject(input) && typeof input.query === 'string' ? input.query : textOf(input)
}
