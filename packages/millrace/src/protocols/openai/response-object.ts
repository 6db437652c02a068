import type { JsonObject, JsonValue, RunRequest, Usage } from '../../protocol/index.ts'
import { isJsonObject } from '../../protocol/index.ts'
import { readApprovalId } from './response-ids.ts'
import type { ResponseFormat } from './response-request.ts'

/**
 * What is stored with a request, in `RunRequest.metadata`, so that any process returns the same
 * response later.
 */
export interface StoredResponse {
  readonly model: string
  readonly metadata: JsonObject
  readonly background: boolean
  readonly store: boolean
  readonly previousResponseId: string | null
  readonly conversation: string | null
  /** How many characters of the request's `system` are `instructions`. Developer messages follow. */
  readonly instructionsLength: number
  readonly format: ResponseFormat | null
  /** The approval requests that were answered in it. */
  readonly approvalIds: readonly string[]
}

const key = 'responses'
const gap = '\n\n'

/** A request with what its response repeats. */
export function withStored(
  request: RunRequest,
  {
    instructions,
    developer,
    ...stored
  }: Omit<StoredResponse, 'instructionsLength'> & {
    readonly instructions: string
    readonly developer: string
  },
): RunRequest {
  const system = [instructions, developer].filter(Boolean).join(gap)
  const more = { ...stored, instructionsLength: instructions.length }
  return { ...request, ...(system && { system }), metadata: { [key]: more as unknown as JsonValue } }
}

/** What `withStored` added. Undefined for a message that came over another protocol. */
export function storedIn(request: RunRequest | undefined): StoredResponse | undefined {
  const stored = request?.metadata?.[key]
  return isJsonObject(stored) ? (stored as unknown as StoredResponse) : undefined
}

/** The text of developer messages, which also holds for the responses that follow. */
export function developerIn(request: RunRequest | undefined): string {
  const { instructionsLength: length } = storedIn(request) ?? {}
  if (length === undefined) return ''
  return (request?.system ?? '').slice(length > 0 ? length + gap.length : 0)
}

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** The approval requests that a request has answered, by the ids of the calls. */
export function approvalsIn(request: RunRequest | undefined): ReadonlyMap<string, string> {
  const { approvalIds = [] } = storedIn(request) ?? {}
  return new Map(approvalIds.map((id) => [readApprovalId(id)?.callId ?? id, id]))
}

/** How far a response has come. */
export interface ResponseState {
  readonly id: string
  /** The name of the agent, if the request is unknown. */
  readonly agent: string
  readonly request: RunRequest | undefined
  readonly createdAt: number
  readonly status: ResponseStatus
  readonly output: readonly JsonObject[]
  readonly completedAt?: number | undefined
  readonly error?: JsonObject | undefined
  readonly incompleteReason?: string | undefined
  readonly usage?: Usage | undefined
}

export type ResponseObject = ReturnType<typeof responseObject>

/** A response with every field that OpenAI sends. */
export function responseObject(state: ResponseState) {
  const { request, usage } = state
  const { settings = {}, tools = [], toolChoice = 'auto', system = '' } = request ?? {}
  const stored = storedIn(request)
  const { instructionsLength = 0, background = false, conversation = null } = stored ?? {}
  return {
    id: state.id,
    object: 'response',
    created_at: seconds(state.createdAt),
    status: state.status,
    access_programs: null,
    background,
    completed_at: state.completedAt === undefined ? null : seconds(state.completedAt),
    conversation: conversation === null ? null : { id: conversation },
    error: state.error ?? null,
    incomplete_details: state.incompleteReason === undefined ? null : { reason: state.incompleteReason },
    instructions: system.slice(0, instructionsLength) || null,
    max_output_tokens: settings.maxOutputTokens ?? null,
    max_tool_calls: null,
    metadata: stored?.metadata ?? {},
    model: stored?.model ?? state.agent,
    moderation: null,
    output: state.output,
    parallel_tool_calls: settings.parallelToolCalls ?? true,
    previous_response_id: stored?.previousResponseId ?? null,
    prompt: null,
    prompt_cache_key: null,
    prompt_cache_retention: null,
    reasoning: { effort: settings.reasoning ?? null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: stored?.store ?? true,
    temperature: settings.temperature ?? 1,
    text: { format: formatOf(stored?.format, request?.output), verbosity: 'medium' },
    tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', name: toolChoice.name },
    tools: tools.map(({ name, description, inputSchema, strict = false }) => ({
      type: 'function',
      name,
      description,
      parameters: inputSchema,
      strict,
    })),
    top_logprobs: 0,
    top_p: settings.topP ?? 1,
    truncation: 'disabled',
    usage: usage ? usageOf(usage) : null,
    user: null,
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}

function formatOf(format: ResponseFormat | null | undefined, schema: JsonObject | undefined): JsonObject {
  if (!format || !schema) return { type: 'text' }
  return format.type === 'json_object' ? { type: format.type } : { ...format, schema }
}

function usageOf({ inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens }: Usage) {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}
