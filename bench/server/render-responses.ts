import type { Frame, Render, RenderInput } from './frame.ts'
import { created, joined, padding, tokens } from './frame.ts'
import { idOf, responseId } from './ids.ts'
import type { CallPart } from './scenario.ts'

/** Responses: output items, each added, filled and done, in a response that is told whole at its beginning and its end. */
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

/** The response as it stands before anything is in it; most of it repeats the request. */
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
