import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { JsonObject, Model, ModelEvent } from '../protocol/index.ts'
import { isObject } from '../protocol/index.ts'
import { anthropicReader } from './anthropic/reader.ts'
import { anthropic } from './anthropic.ts'
import { openai, openaiChat } from './openai.ts'
import { chatReader } from './openai-chat/reader.ts'
import { responsesReader } from './openai-responses/reader.ts'
import type { Fetch } from './wire/http-response.ts'
import type { WireReader } from './wire/stream.ts'

/** Real answers of real providers. They are not part of this repository but may be next to it. */
const folder = new URL('../../../../../shared/recordings/', import.meta.url)

export const present = existsSync(folder)

type Wire = 'openai-chat' | 'openai-responses' | 'anthropic'

const known = [
  'anthropic/anthropic-clear-thinking.1',
  'anthropic/anthropic-code-execution-20250825.1',
  'anthropic/anthropic-json-tool.2',
  'anthropic/anthropic-mcp.1',
  'anthropic/anthropic-refusal',
  'anthropic/anthropic-text',
  'anthropic/anthropic-tool-no-args',
  'anthropic/anthropic-web-search-tool.1',
  'anthropic/duplicate-message-start',
  'openai-chat/alibaba-tool-call',
  'openai-chat/azure-model-router.1',
  'openai-chat/deepseek-tool-call',
  'openai-chat/groq-tool-call',
  'openai-chat/mistral-incremental-tool-call',
  'openai-chat/openai-text',
  'openai-chat/xai-tool-call',
  'openai-responses/azure-tool-call.1',
  'openai-responses/github-copilot-id-rotation.1',
  'openai-responses/lmstudio-tool-call.1',
  'openai-responses/openai-error.1',
  'openai-responses/openai-local-shell-tool.1',
  'openai-responses/openai-mcp-tool-approval.1',
  'openai-responses/openai-reasoning-encrypted-content.1',
]

const ending = '.chunks.txt'

/** The names of all recordings, or of the known ones if the folder is missing. */
export const names: readonly string[] = present
  ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith(ending))
      .map((file) => file.slice(0, -ending.length))
      .sort()
  : known

/** One answer. A recording may contain several in sequence. */
export interface Recording {
  readonly wire: Wire
  readonly lines: readonly JsonObject[]
  /** The raw SSE frames. */
  readonly frames: readonly string[]
  readonly bytes: Uint8Array
}

const encoder = new TextEncoder()

export function recordingsOf(name: string): Recording[] {
  const wire = name.split('/')[0] as Wire
  const texts = readFileSync(new URL(`${name}${ending}`, folder), 'utf8')
    .split('\n')
    .filter(Boolean)
  const answers: string[][] = []
  for (const text of texts) {
    if (answers.length === 0 || JSON.parse(text).type === 'response.created') answers.push([])
    answers.at(-1)?.push(text)
  }
  return answers.map((answer) => {
    const lines: JsonObject[] = answer.map((text) => JSON.parse(text))
    const frames = answer.map((text, at) =>
      wire === 'openai-chat' ? `data: ${text}\n\n` : `event: ${lines[at]?.type}\ndata: ${text}\n\n`,
    )
    if (wire === 'openai-chat') frames.push('data: [DONE]\n\n')
    return { wire, lines, frames, bytes: encoder.encode(frames.join('')) }
  })
}

/** The tools that the recordings call, as declared in a request. */
export const tools = ['weather', 'webSearchTool', 'calculator', 'json', 'updateIssueList'].map((name) => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
}))

const apiKey = 'sk-recorded'

export function modelOf(wire: Wire, options: { fetch: Fetch } | { baseURL: string }): Model {
  const common = { apiKey, provider: 'recorded', ...options }
  if (wire === 'openai-chat') return openaiChat('m', common)
  return wire === 'anthropic' ? anthropic('claude-sonnet-4-5', common) : openai('m', common)
}

/** The reader of an API, without bytes and sockets. */
export function readerOf(wire: Wire, events: ModelEvent[]): WireReader {
  const provider = 'recorded'
  if (wire === 'anthropic') return anthropicReader(events, { provider })
  if (wire === 'openai-responses') return responsesReader(events, { provider })
  return chatReader(events, { provider, tools: new Set(tools.map(({ name }) => name)) })
}

/** The content of an answer. */
export interface Summary {
  text: string
  reasoning: string
  calls: { callId: string; name: string; input: unknown }[]
  finish: string | undefined
  usage: Record<string, number>
}

export function summarize(events: readonly ModelEvent[]): Summary {
  const summary: Summary = { text: '', reasoning: '', calls: [], finish: undefined, usage: {} }
  for (const event of events) {
    if (event.type === 'text' || event.type === 'reasoning') summary[event.type] += event.text
    if (event.type === 'tool-call')
      summary.calls.push({ callId: event.callId, name: event.name, input: event.problem ?? event.input })
    if (event.type === 'done') {
      summary.finish = event.finish
      summary.usage = { ...event.usage }
    }
  }
  return summary
}

type Fields = Record<string, unknown>

const fields = (value: unknown): Fields => (isObject(value) ? value : {})
const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields) : [])
const asString = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Leaves out missing counts. */
function counts(all: Record<string, unknown>): Record<string, number> {
  const counted = Object.entries(all).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  )
  return Object.fromEntries(counted)
}

/** The content of a recording, read independently: it shares no code with the models. */
export function expectedSummary({ wire, lines }: Recording): Summary {
  if (wire === 'openai-chat') return chatSummary(lines)
  return wire === 'anthropic' ? messagesSummary(lines) : responsesSummary(lines)
}

function chatSummary(lines: readonly Fields[]): Summary {
  const deltas = lines.flatMap((line) => list(line.choices)).map((choice) => fields(choice.delta))
  const fragments = deltas.flatMap((delta) => list(delta.tool_calls))
  const indexes = [...new Set(fragments.map(({ index }) => index))]
  const calls = indexes.map((index) => {
    const own = fragments.filter((fragment) => fragment.index === index)
    const bodies = own.map((fragment) => fields(fragment.function))
    return {
      callId: own.map(({ id }) => asString(id)).find(Boolean) ?? '',
      name: bodies.map(({ name }) => asString(name)).join(''),
      input: JSON.parse(bodies.map((body) => asString(body.arguments)).join('')),
    }
  })
  const reasons: Record<string, string> = { stop: 'stop', tool_calls: 'tool-calls', length: 'length' }
  const reason = lines
    .flatMap((line) => list(line.choices))
    .map((choice) => asString(choice.finish_reason))
    .find(Boolean)
  const usage = fields(lines.map((line) => line.usage ?? fields(line.x_groq).usage).findLast(Boolean))
  return {
    text: deltas.map((delta) => asString(delta.content)).join(''),
    reasoning: deltas.map((delta) => asString(delta.reasoning_content)).join(''),
    calls,
    finish: reasons[reason ?? ''],
    usage: counts({
      inputTokens: usage.prompt_tokens,
      // Correct whether reasoning is counted within the completion or separately.
      outputTokens: Number(usage.total_tokens) - Number(usage.prompt_tokens),
      reasoningTokens: fields(usage.completion_tokens_details).reasoning_tokens,
      cacheReadTokens: fields(usage.prompt_tokens_details).cached_tokens,
    }),
  }
}

/** The last event of a Responses stream repeats everything. */
function responsesSummary(lines: readonly Fields[]): Summary {
  const { output, usage } = fields(lines.find(({ type }) => type === 'response.completed')?.response)
  const items = list(output)
  const textsOf = (type: string, field: string) =>
    items
      .filter((item) => item.type === type)
      .flatMap((item) => list(item[field]))
      .map(({ text }) => asString(text))
  const calls = items.flatMap(({ type, id, call_id, name, arguments: written, action, server_label }) => {
    const callId = String(call_id ?? id)
    if (type === 'mcp_approval_request') {
      const input = { server: server_label, tool: name, arguments: JSON.parse(asString(written)) }
      return [{ callId, name: 'mcp_approval', input }]
    }
    if (type === 'function_call')
      return [{ callId, name: String(name), input: JSON.parse(asString(written)) }]
    const { type: _, ...input } = fields(action)
    return type === 'local_shell_call' ? [{ callId, name: 'shell', input }] : []
  })
  const spent = fields(usage)
  const { cached_tokens: read, cache_write_tokens: written } = fields(spent.input_tokens_details)
  return {
    text: textsOf('message', 'content').join(''),
    reasoning: [...textsOf('reasoning', 'summary'), ...textsOf('reasoning', 'content')].join('\n\n'),
    calls,
    finish: calls.length > 0 ? 'tool-calls' : 'stop',
    usage: counts({
      inputTokens: spent.input_tokens,
      outputTokens: spent.output_tokens,
      reasoningTokens: fields(spent.output_tokens_details).reasoning_tokens,
      cacheReadTokens: read,
      cacheWriteTokens: written,
    }),
  }
}

function messagesSummary(lines: readonly Fields[]): Summary {
  const deltas = lines.filter(({ type }) => type === 'content_block_delta')
  const joined = (field: string, index?: unknown) =>
    deltas
      .filter((line) => index === undefined || line.index === index)
      .map((line) => asString(fields(line.delta)[field]))
      .join('')
  const starts = lines.filter(({ type }) => type === 'content_block_start')
  const calls = starts
    .filter(({ content_block: block }) => fields(block).type === 'tool_use')
    .map(({ index, content_block: block }) => ({
      callId: String(fields(block).id),
      name: String(fields(block).name),
      input: JSON.parse(joined('partial_json', index) || '{}'),
    }))
  const start = fields(lines.find(({ type }) => type === 'message_start'))
  const end = fields(lines.find(({ type }) => type === 'message_delta'))
  const usage = { ...fields(fields(start.message).usage), ...fields(end.usage) }
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
  const reasons: Record<string, string> = { end_turn: 'stop', tool_use: 'tool-calls', refusal: 'refusal' }
  return {
    text: joined('text'),
    reasoning: joined('thinking'),
    calls,
    finish: reasons[asString(fields(end.delta).stop_reason)],
    usage: counts({
      inputTokens: Number(usage.input_tokens) + Number(read ?? 0) + Number(written ?? 0),
      outputTokens: usage.output_tokens,
      cacheReadTokens: read,
      cacheWriteTokens: written,
      webSearches: fields(usage.server_tool_use).web_search_requests || undefined,
    }),
  }
}

/** The index of the frame that completes the answer, or -1 if it fails. */
export function terminalOf({ wire, lines }: Recording): number {
  if (wire === 'anthropic') return lines.findIndex(({ type }) => type === 'message_stop')
  if (wire === 'openai-responses') return lines.findIndex(({ type }) => type === 'response.completed')
  return lines.findIndex((line) => list(line.choices).some((choice) => asString(choice.finish_reason) !== ''))
}
