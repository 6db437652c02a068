import type { BenchTool, Setting, Wire } from '../../contract.ts'

const paths: Record<Wire, string> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
}

export type Item = Readonly<Record<string, unknown>>

/** A tool call as assembled by the floors. */
export interface FloorCall {
  id: string
  name: string
  json: string
}

export interface FloorRequest {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
}

/** The smallest request that a provider accepts. */
export function requestOf(
  { wire, baseURL, model }: Setting,
  items: readonly Item[],
  tools: readonly BenchTool[] = [],
): FloorRequest {
  const offered = tools.length > 0 ? { tools: tools.map((tool) => toolForms[wire](tool)) } : {}
  const own =
    wire === 'chat'
      ? { messages: items, stream_options: { include_usage: true } }
      : wire === 'responses'
        ? { input: items }
        : { messages: items, max_tokens: 4096 }
  return {
    url: baseURL + paths[wire],
    headers: {
      'content-type': 'application/json',
      ...(wire === 'messages'
        ? { 'x-api-key': 'none', 'anthropic-version': '2023-06-01' }
        : { authorization: 'Bearer none' }),
    },
    body: JSON.stringify({ model, stream: true, ...own, ...offered }),
  }
}

const toolForms: Record<Wire, (tool: BenchTool) => object> = {
  chat: ({ name, description, jsonSchema }) => ({
    type: 'function',
    function: { name, description, parameters: jsonSchema },
  }),
  responses: ({ name, description, jsonSchema }) => ({
    type: 'function',
    name,
    description,
    parameters: jsonSchema,
    strict: false,
  }),
  messages: ({ name, description, jsonSchema }) => ({ name, description, input_schema: jsonSchema }),
}

/**
 * The items to add before the next round: the assistant's text and tool calls, and their results.
 */
export function nextItems(
  wire: Wire,
  text: string,
  calls: readonly FloorCall[],
  inputs: readonly Item[],
  results: readonly string[],
): Item[] {
  if (wire === 'chat')
    return [
      {
        role: 'assistant',
        content: text || null,
        tool_calls: calls.map(({ id, name, json }) => ({
          id,
          type: 'function',
          function: { name, arguments: json },
        })),
      },
      ...calls.map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: results[at] })),
    ]
  if (wire === 'responses')
    return [
      ...(text ? [{ role: 'assistant', content: text }] : []),
      ...calls.map(({ id, name, json }) => ({ type: 'function_call', call_id: id, name, arguments: json })),
      ...calls.map(({ id }, at) => ({ type: 'function_call_output', call_id: id, output: results[at] })),
    ]
  const content = calls.map(({ id, name }, at) => ({ type: 'tool_use', id, name, input: inputs[at] }))
  return [
    { role: 'assistant', content: text ? [{ type: 'text', text }, ...content] : content },
    {
      role: 'user',
      content: calls.map(({ id }, at) => ({ type: 'tool_result', tool_use_id: id, content: results[at] })),
    },
  ]
}

/**
 * Runs rounds until there are no more tool calls. `round` sends a request, emits the text and
 * returns the tool calls.
 */
export async function floorLoop(
  setting: Setting,
  prompt: string,
  round: (request: FloorRequest) => Promise<{ text: string; calls: readonly FloorCall[] }>,
): Promise<void> {
  const items: Item[] = [{ role: 'user', content: prompt }]
  for (;;) {
    const { text, calls } = await round(requestOf(setting, items, setting.tools))
    if (calls.length === 0) return
    const inputs = calls.map(({ json }): Item => JSON.parse(json))
    const results = await Promise.all(
      calls.map(
        ({ name }, at) => setting.tools.find((tool) => tool.name === name)?.run(inputs[at] ?? {}) ?? '',
      ),
    )
    items.push(...nextItems(setting.wire, text, calls, inputs, results))
  }
}
