import type { JsonObject, Message, ToolResultPart, UserPart } from '../../protocol/index.ts'

// The items of a response, as output and as input.

/** All tools of the server are shown as tools of one MCP server. */
const serverLabel = 'millrace'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'

export function messageItem(id: string, text: string | undefined, status: ItemStatus): JsonObject {
  const content = text === undefined ? [] : [outputText(text)]
  return { id, type: 'message', status, content, role: 'assistant' }
}

export function outputText(text: string): JsonObject {
  return { type: 'output_text', annotations: [], logprobs: [], text }
}

/** Only an item that was given up has a status, as at OpenAI. */
export function reasoningItem(id: string, text: string | undefined, status: ItemStatus): JsonObject {
  const summary = text === undefined ? [] : [summaryText(text)]
  return { id, type: 'reasoning', summary, ...(status === 'incomplete' && { status }) }
}

export function summaryText(text: string): JsonObject {
  return { type: 'summary_text', text }
}

interface CallFields {
  readonly callId: string
  readonly name: string
  readonly arguments: string
}

export function functionCallItem(id: string, call: CallFields, status: ItemStatus): JsonObject {
  const { callId, name } = call
  return { id, type: 'function_call', status, arguments: call.arguments, call_id: callId, name }
}

export function mcpCallItem(
  id: string,
  call: CallFields & { readonly result?: { readonly text: string; readonly isError: boolean } },
  status: ItemStatus,
  approvalRequestId: string | undefined,
): JsonObject {
  const { name, result } = call
  const content = result?.isError ? [{ type: 'text', text: result.text }] : undefined
  return {
    id,
    type: 'mcp_call',
    status,
    approval_request_id: approvalRequestId ?? null,
    arguments: call.arguments,
    error: content ? { type: 'mcp_tool_execution_error', content } : null,
    name,
    output: result && !result.isError ? result.text : null,
    server_label: serverLabel,
  }
}

export function approvalItem(id: string, name: string, input: JsonObject): JsonObject {
  return {
    id,
    type: 'mcp_approval_request',
    arguments: JSON.stringify(input),
    name,
    server_label: serverLabel,
  }
}

export function decisionItem(
  id: string,
  approvalRequestId: string,
  { approved, reason }: { readonly approved: boolean; readonly reason?: string },
): JsonObject {
  return {
    id,
    type: 'mcp_approval_response',
    approval_request_id: approvalRequestId,
    approve: approved,
    reason: reason ?? null,
  }
}

export function functionOutputItem(id: string, callId: string, parts: readonly ToolResultPart[]): JsonObject {
  const output = parts.every(({ type }) => type !== 'image')
    ? parts.map(textOfPart).join('\n')
    : parts.map((part) =>
        part.type === 'image' ? imagePart(part) : { type: 'input_text', text: textOfPart(part) },
      )
  return { id, type: 'function_call_output', status: 'completed', call_id: callId, output }
}

function textOfPart(part: ToolResultPart): string {
  return part.type === 'text' ? part.text : part.type === 'json' ? JSON.stringify(part.value) : ''
}

/** The items of a message. Reasoning is left out: it belongs to the provider. */
export function itemsOf(message: Message, id: (prefix: string) => string): JsonObject[] {
  switch (message.role) {
    case 'system':
      return [inputMessage(id('msg'), 'developer', message.content)]
    case 'user':
      return [inputMessage(id('msg'), 'user', message.content)]
    case 'tool':
      return [functionOutputItem(id('fco'), message.callId, message.content)]
    case 'assistant':
      return message.content.flatMap((part) => {
        if (part.type === 'text') return [messageItem(id('msg'), part.text, 'completed')]
        if (part.type !== 'tool-call') return []
        const { callId, name, input, raw = JSON.stringify(input) } = part
        return [functionCallItem(id('fc'), { callId, name, arguments: raw }, 'completed')]
      })
  }
}

function inputMessage(id: string, role: string, content: string | readonly UserPart[]): JsonObject {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  return { id, type: 'message', status: 'completed', role, content: parts.map(inputPart) }
}

function inputPart(part: UserPart): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  if (part.type === 'image') return imagePart(part)
  const { name, mediaType } = part
  const source =
    'url' in part ? { file_url: part.url } : { file_data: `data:${mediaType};base64,${part.data}` }
  return { type: 'input_file', ...(name !== undefined && { filename: name }), ...source }
}

function imagePart(part: Extract<UserPart, { type: 'image' }>): JsonObject {
  const url = 'url' in part ? part.url : `data:${part.mediaType};base64,${part.data}`
  return { type: 'input_image', detail: 'auto', file_id: null, image_url: url }
}
