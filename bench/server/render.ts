import { createHash } from 'node:crypto'
import type { CallPart, Part, Scenario } from './scenario.ts'

/** One event as it goes over the wire. */
export interface Frame {
  readonly text: string
  /** How long to wait before it is written. */
  readonly waitMs: number
}

/** The input of a renderer. */
export interface RenderInput {
  readonly name: string
  readonly scenario: Scenario
  readonly round: number
  readonly parts: readonly Part[]
  readonly options: RenderOptions
}

/** Options of a request. */
export interface RenderOptions {
  /** Chat Completions sends usage only on request. */
  readonly usage: boolean
  /** OpenAI pads its deltas, so that their sizes do not reveal the words, unless this is off. */
  readonly obfuscation: boolean
}

export type Render = (input: RenderInput) => Frame[]

export const created = 1_790_000_000
const letters = 'aQ3xZr8KpL0vTn5Y'

export const padding = ({ obfuscation }: RenderOptions, delta = '') =>
  obfuscation ? { obfuscation: letters.slice(delta.length % letters.length) } : {}

/** Made-up counts that depend only on the size of the answer. */
export function tokens(round: number, parts: readonly Part[]): { input: number; output: number } {
  const output = parts.reduce((sum, { deltas }) => sum + deltas.length, 0)
  return { input: 50 + round * 40, output }
}

export const joined = ({ deltas }: Part) => deltas.join('')

/** Ids that look like a provider's and are the same in every run. */
export function idOf(prefix: string, length: number, ...what: readonly (string | number)[]): string {
  const digest = createHash('sha512').update(what.join('/')).digest('hex')
  return prefix + digest.slice(0, length)
}

/**
 * A response's id ends with its round, for clients that name the previous response instead of
 * repeating the conversation.
 */
export function responseId(scenario: string, round: number): string {
  return idOf('resp_', 44, scenario, round) + round.toString(16).padStart(4, '0')
}

export const roundOf = (id: string) => Number.parseInt(id.slice(-4), 16)

/** Chat Completions: chunks with deltas of one choice, then the finish, the usage and `[DONE]`. */
export const renderChat: Render = ({ name, round, parts, options }) => {
  const frames: Frame[] = []
  const head = {
    id: idOf('chatcmpl-', 29, name, round),
    object: 'chat.completion.chunk',
    created,
    model: 'gpt-4.1-mini-2025-04-14',
    service_tier: 'default',
    system_fingerprint: 'fp_de604bd877',
  }
  function chunk(choices: object[], delta = '', waitMs = 0, usage: object | null = null) {
    const data = { ...head, choices, ...(options.usage && { usage }), ...padding(options, delta) }
    frames.push({ text: `data: ${JSON.stringify(data)}\n\n`, waitMs })
  }
  const sendDelta = (delta: object, text = '', waitMs = 0, finish: string | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: finish }], text, waitMs)

  // `"content":null` when the answer begins with a call, and `""` when it begins with words.
  sendDelta({ role: 'assistant', content: parts[0]?.type === 'call' ? null : '', refusal: null })
  let calls = 0
  for (const { everyMs = 0, ...part } of parts) {
    if (part.type === 'text') {
      for (const content of part.deltas) sendDelta({ content }, content, everyMs)
      continue
    }
    const index = calls++
    const id = idOf('call_', 24, name, round, index)
    const start = { index, id, type: 'function', function: { name: part.name, arguments: '' } }
    sendDelta({ tool_calls: [start] })
    for (const delta of part.deltas)
      sendDelta({ tool_calls: [{ index, function: { arguments: delta } }] }, delta, everyMs)
  }
  sendDelta({}, '', 0, calls > 0 ? 'tool_calls' : 'stop')
  if (options.usage) {
    const { input, output } = tokens(round, parts)
    chunk([], '', 0, {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    })
  }
  frames.push({ text: 'data: [DONE]\n\n', waitMs: 0 })
  return frames
}

/**
 * Anthropic Messages: numbered content blocks with start, deltas and stop, between `message_start`
 * and `message_stop`.
 */
export const renderMessages: Render = ({ name, round, parts }) => {
  const frames: Frame[] = []
  function send(type: string, fields: object = {}, waitMs = 0) {
    frames.push({ text: `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`, waitMs })
  }

  const { input, output } = tokens(round, parts)
  const counts = { input_tokens: input, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  send('message_start', {
    message: {
      model: 'claude-sonnet-4-5-20250929',
      id: idOf('msg_01', 22, name, round),
      type: 'message',
      role: 'assistant',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        ...counts,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: 1,
        service_tier: 'standard',
        inference_geo: 'not_available',
      },
    },
  })
  for (const [index, { everyMs = 0, ...part }] of parts.entries()) {
    const delta = (fields: object, waitMs: number) =>
      send('content_block_delta', { index, delta: fields }, waitMs)
    if (part.type === 'text') {
      send('content_block_start', { index, content_block: { type: 'text', text: '' } })
      if (index === 0) send('ping')
      for (const text of part.deltas) delta({ type: 'text_delta', text }, everyMs)
    } else {
      const id = idOf('toolu_01', 22, name, round, index)
      send('content_block_start', {
        index,
        content_block: { type: 'tool_use', id, name: part.name, input: {} },
      })
      if (index === 0) send('ping')
      delta({ type: 'input_json_delta', partial_json: '' }, 0)
      for (const text of part.deltas) delta({ type: 'input_json_delta', partial_json: text }, everyMs)
    }
    send('content_block_stop', { index })
  }
  const calls = parts.some(({ type }) => type === 'call')
  send('message_delta', {
    delta: { stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null },
    usage: { ...counts, output_tokens: output },
  })
  send('message_stop')
  return frames
}

/**
 * Responses: output items, each added, filled and done; the whole response is sent at the start and
 * at the end.
 */
export const renderResponses: Render = (input) => {
  const { name, round, parts, options } = input
  const frames: Frame[] = []
  const output: object[] = []
  const head = responseHead(input)

  function send(type: string, fields: object, waitMs = 0) {
    const data = JSON.stringify({ type, sequence_number: frames.length, ...fields })
    frames.push({ text: `event: ${type}\ndata: ${data}\n\n`, waitMs })
  }

  send('response.created', { response: head })
  send('response.in_progress', { response: head })
  for (const [index, { everyMs = 0, ...part }] of parts.entries()) {
    const id = idOf(part.type === 'text' ? 'msg_' : 'fc_', 48, name, round, index)
    const where = { item_id: id, output_index: index }
    const whole = joined(part)
    if (part.type === 'text') {
      const item = { id, type: 'message', status: 'in_progress', content: [], role: 'assistant' }
      const inside = { ...where, content_index: 0 }
      const words = (text: string) => ({ type: 'output_text', annotations: [], logprobs: [], text })
      send('response.output_item.added', { output_index: index, item })
      send('response.content_part.added', { ...inside, part: words('') })
      for (const delta of part.deltas) {
        const fields = { ...inside, delta, logprobs: [], ...padding(options, delta) }
        send('response.output_text.delta', fields, everyMs)
      }
      send('response.output_text.done', { ...inside, text: whole, logprobs: [] })
      send('response.content_part.done', { ...inside, part: words(whole) })
      const done = { ...item, status: 'completed', content: [words(whole)] }
      send('response.output_item.done', { output_index: index, item: done })
      output.push(done)
    } else {
      const item = callItem(part, id, idOf('call_', 24, name, round, index))
      send('response.output_item.added', { output_index: index, item })
      for (const delta of part.deltas) {
        const fields = { ...where, delta, ...padding(options, delta) }
        send('response.function_call_arguments.delta', fields, everyMs)
      }
      send('response.function_call_arguments.done', { ...where, arguments: whole })
      const done = { ...item, status: 'completed', arguments: whole }
      send('response.output_item.done', { output_index: index, item: done })
      output.push(done)
    }
  }
  const count = tokens(round, parts)
  const usage = {
    input_tokens: count.input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: count.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: count.input + count.output,
  }
  const response = { ...head, status: 'completed', completed_at: created + 1, output, usage }
  send('response.completed', { response })
  return frames
}

const callItem = (part: Omit<CallPart, 'everyMs'>, id: string, callId: string) => ({
  id,
  type: 'function_call',
  status: 'in_progress',
  arguments: '',
  call_id: callId,
  name: part.name,
})

/** The empty response at the start; most of it repeats the request. */
function responseHead({ name, round, scenario }: RenderInput): object {
  return {
    id: responseId(name, round),
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: 'gpt-4.1-mini-2025-04-14',
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    prompt_cache_retention: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: true,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: scenario.tools.map(({ name: tool, description, jsonSchema }) => ({
      type: 'function',
      description,
      name: tool,
      parameters: jsonSchema,
      strict: false,
    })),
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    metadata: {},
  }
}
