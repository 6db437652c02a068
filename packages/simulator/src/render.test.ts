import fc from 'fast-check'
import type { JsonObject } from 'millrace'
import type { ScriptStep } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { renderAnthropic } from './render-anthropic.ts'
import { renderChat } from './render-chat.ts'
import { renderResponses } from './render-responses.ts'
import { scenarioOf } from './scenario.ts'
import type { Rendered, RenderInput, TimelineItem } from './wire.ts'

const usage = {
  inputTokens: 100,
  outputTokens: 20,
  reasoningTokens: 5,
  cacheReadTokens: 60,
  cacheWriteTokens: 10,
}

function play(
  render: (input: RenderInput) => Rendered,
  steps: readonly ScriptStep[],
  { body = {}, sizes = [100] }: { body?: JsonObject; sizes?: readonly number[] } = {},
): Rendered & { readonly events: JsonObject[] } {
  let ids = 0
  const rendered = render({
    body: { model: 'm', ...body },
    scenario: scenarioOf(steps, { sizes, prompt: { inputTokens: 10 } }),
    nextId: (prefix) => `${prefix}${++ids}`,
    created: 1,
  })
  return { ...rendered, events: rendered.timeline.flatMap(eventOf) }
}

const eventOf = (item: TimelineItem) =>
  'frame' in item && typeof item.frame.data !== 'string' ? [item.frame.data] : []
const stopsOf = ({ timeline }: Rendered) => timeline.filter((item) => 'stop' in item)
const types = ({ events }: { events: JsonObject[] }) => events.map(({ type }) => type)

describe('Chat Completions', () => {
  const chat = (steps: readonly ScriptStep[], body: JsonObject = {}, sizes?: readonly number[]) =>
    play(renderChat, steps, { body, ...(sizes && { sizes }) })
  const deltas = ({ events }: { events: JsonObject[] }) =>
    events.map(({ choices }) => (choices as unknown as { delta: unknown }[])[0]?.delta)

  test('text follows a chunk with the role, and ends with a finish reason and [DONE]', () => {
    const rendered = chat([{ text: 'Hello' }], {}, [3])
    expect(rendered.events[1]).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      service_tier: 'default',
      system_fingerprint: 'fp_simulator',
      choices: [{ index: 0, delta: { content: 'Hel' }, logprobs: null, finish_reason: null }],
      obfuscation: expect.stringMatching(/^\w+$/),
    })
    const plain = chat([{ text: 'Hello' }], { stream_options: { include_obfuscation: false } })
    expect(plain.events.some((event) => 'obfuscation' in event)).toBe(false)
    expect(deltas(rendered)).toEqual([
      { role: 'assistant', content: '', refusal: null },
      { content: 'Hel' },
      { content: 'lo' },
      {},
    ])
    expect(rendered.events.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
    expect(rendered.timeline.at(-1)).toEqual({ frame: { data: '[DONE]' } })
  })

  test('calls are identified by index; id and name come once', () => {
    const rendered = chat([
      { call: 'a', input: { x: 1 } },
      { call: 'b', id: 'mine' },
    ])
    expect(deltas(rendered)).toEqual([
      { role: 'assistant', content: null, refusal: null },
      { tool_calls: [{ index: 0, id: 'call_2', type: 'function', function: { name: 'a', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"x":1}' } }] },
      { tool_calls: [{ index: 1, id: 'mine', type: 'function', function: { name: 'b', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
      {},
    ])
    expect(rendered.whole).toMatchObject({
      object: 'chat.completion',
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            content: null,
            tool_calls: [
              { id: 'call_2', type: 'function', function: { name: 'a', arguments: '{"x":1}' } },
              { id: 'mine', type: 'function', function: { name: 'b', arguments: '{}' } },
            ],
          },
        },
      ],
    })
  })

  test('reasoning, refusals and signatures have their own fields', () => {
    expect(deltas(chat([{ reasoning: 'hm' }, { text: 'a' }])).slice(1, 3)).toEqual([
      { content: null, reasoning_content: 'hm' },
      { content: 'a' },
    ])
    const refused = chat([{ text: 'no' }, { finish: 'refusal' }])
    expect(deltas(refused)[1]).toEqual({ refusal: 'no' })
    expect(refused.whole).toMatchObject({ choices: [{ message: { content: null, refusal: 'no' } }] })
    const opaque = { provider: 'google', data: { thought_signature: 's' } }
    expect(deltas(chat([{ call: 'a', opaque }]))[1]).toMatchObject({
      tool_calls: [{ extra_content: { google: { thought_signature: 's' } } }],
    })
  })

  test('usage comes in its own chunk if the request asks for it', () => {
    expect(chat([{ text: 'a' }, { usage }]).events.every((event) => !('usage' in event))).toBe(true)
    const requested = chat([{ text: 'a' }, { usage }], { stream_options: { include_usage: true } })
    const [last, ...before] = requested.events.toReversed()
    expect(before.every((event) => event.usage === null)).toBe(true)
    expect(last).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 60 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
    })
  })

  test('ignores provider tools', () => {
    const rendered = chat([{ providerTool: 'web_search', output: 'x' }, { text: 'a' }])
    expect(deltas(rendered)).toHaveLength(3)
  })
})

describe('Responses', () => {
  const responses = (steps: readonly ScriptStep[], body?: JsonObject) =>
    play(renderResponses, steps, body ? { body } : {})

  test('every item is added, filled and done, and the final event has the whole response', () => {
    const rendered = responses([
      { reasoning: 'hm' },
      { text: 'Hi' },
      { call: 'look', input: { id: 1 } },
      { usage },
    ])
    expect(types(rendered)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(rendered.events.map(({ sequence_number }) => sequence_number)).toEqual(
      rendered.events.map((_, index) => index),
    )
    const items = rendered.events.filter(({ type }) => type === 'response.output_item.done')
    expect(items.map(({ output_index }) => output_index)).toEqual([0, 1, 2])
    expect(rendered.events.at(-1)).toMatchObject({ response: rendered.whole })
    expect(rendered.whole).toMatchObject({ status: 'completed', output: items.map(({ item }) => item) })
    expect(rendered.whole.usage).toEqual({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 120,
    })
  })

  test('encrypted reasoning is included if requested or scripted', () => {
    const item = (rendered: { events: JsonObject[] }) =>
      rendered.events.find(({ type }) => type === 'response.output_item.done')?.item
    expect(item(responses([{ reasoning: 'hm' }]))).not.toHaveProperty('encrypted_content')
    const requested = responses([{ reasoning: 'hm' }], { include: ['reasoning.encrypted_content'] })
    expect(item(requested)).toMatchObject({ encrypted_content: expect.stringMatching(/^gAAAA/) })
    const opaque = { provider: 'openai', data: { encrypted_content: 'mine', id: 'rs_mine' } }
    expect(item(responses([{ reasoning: '', opaque }]))).toEqual({
      id: 'rs_mine',
      type: 'reasoning',
      encrypted_content: 'mine',
      summary: [],
    })
  })

  test('a response that is cut off is incomplete, and so is its last item', () => {
    const words = responses([{ text: 'Hi' }, { finish: 'length' }])
    expect(words.events.at(-1)).toMatchObject({ type: 'response.incomplete' })
    expect(words.whole).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
    })
    const call = responses([{ call: 'a', raw: '{"x', cut: true }, { finish: 'length' }])
    expect(types(call)).not.toContain('response.function_call_arguments.done')
    expect(call.whole).toMatchObject({ output: [{ status: 'incomplete', arguments: '{"x' }] })
  })

  test('a refusal is a separate content part', () => {
    const rendered = responses([{ text: 'no' }, { finish: 'refusal' }])
    expect(types(rendered).slice(4, 6)).toEqual(['response.refusal.delta', 'response.refusal.done'])
    expect(rendered.whole).toMatchObject({ output: [{ content: [{ type: 'refusal', refusal: 'no' }] }] })
  })

  test.each([
    ['web_search', 'web_search_call', { action: { type: 'search', query: 'rain' } }],
    ['file_search', 'file_search_call', { queries: ['rain'] }],
    ['code_interpreter', 'code_interpreter_call', { outputs: [{ type: 'logs', logs: 'wet' }] }],
    ['image_generation', 'image_generation_call', { result: 'wet' }],
    ['ask_deepwiki', 'mcp_call', { name: 'ask_deepwiki', arguments: '{"query":"rain"}', output: 'wet' }],
  ])('%s is a %s', (providerTool, type, fields) => {
    const rendered = responses([{ providerTool, input: { query: 'rain' }, output: 'wet' }])
    expect(rendered.whole).toMatchObject({ output: [{ type, status: 'completed', ...fields }] })
    expect(
      types(rendered).filter((one) => String(one).startsWith(`response.${type}`)).length,
    ).toBeGreaterThan(1)
  })
})

describe('Anthropic Messages', () => {
  const anthropic = (steps: readonly ScriptStep[]) => play(renderAnthropic, steps)

  test('every block is started, filled and stopped', () => {
    const rendered = anthropic([{ reasoning: 'hm' }, { text: 'Hi' }, { call: 'look' }, { usage }])
    expect(types(rendered)).toEqual([
      'message_start',
      'ping',
      ...['content_block_start', 'content_block_delta', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_delta', 'content_block_stop'],
      'message_delta',
      'message_stop',
    ])
    expect(rendered.events[4]).toEqual({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'signature_delta', signature: expect.any(String) },
    })
    expect(rendered.whole).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'Hi' },
        { type: 'tool_use', id: 'toolu_012', name: 'look', input: {} },
      ],
    })
  })

  test('cached tokens are not part of input_tokens, and the final usage has totals', () => {
    const { events } = anthropic([{ text: 'Hi' }, { usage }])
    const cached = { cache_creation_input_tokens: 10, cache_read_input_tokens: 60 }
    expect(events[0]).toMatchObject({ message: { usage: { input_tokens: 30, ...cached, output_tokens: 1 } } })
    expect(events.at(-2)).toMatchObject({ usage: { input_tokens: 30, ...cached, output_tokens: 20 } })
  })

  test('redacted thinking is sent as data', () => {
    const redacted = { provider: 'anthropic', data: { redacted: 'xyz' } }
    const rendered = anthropic([{ reasoning: '', opaque: redacted }, { text: 'Hi' }])
    expect(types(rendered).slice(2, 4)).toEqual(['content_block_start', 'content_block_stop'])
    expect(rendered.whole).toMatchObject({ content: [{ type: 'redacted_thinking', data: 'xyz' }, {}] })
    const signed = { provider: 'anthropic', data: { signature: 'mine' } }
    expect(anthropic([{ reasoning: 'hm', opaque: signed }]).whole).toMatchObject({
      content: [{ type: 'thinking', thinking: 'hm', signature: 'mine' }],
    })
  })

  test('a call that is cut off is still stopped', () => {
    const rendered = anthropic([{ call: 'a', raw: '{"x', cut: true }, { finish: 'length' }])
    expect(types(rendered).slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop'])
    expect(rendered.whole).toMatchObject({ stop_reason: 'max_tokens' })
  })

  test('a provider tool is a use and a result', () => {
    const rendered = anthropic([{ providerTool: 'web_search', input: { query: 'rain' }, output: 'wet' }])
    expect(rendered.whole).toMatchObject({
      stop_reason: 'end_turn',
      content: [
        { type: 'server_tool_use', id: 'srvtoolu_012', name: 'web_search', input: { query: 'rain' } },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_012', content: [{ title: 'wet' }] },
      ],
    })
    expect(
      anthropic([{ providerTool: 'code_execution', output: 'down', isError: true }]).whole,
    ).toMatchObject({
      content: [{}, { content: { type: 'code_execution_tool_result_error', error_code: 'down' } }],
    })
    expect(anthropic([{ providerTool: 'wiki', output: { a: 1 } }]).whole).toMatchObject({
      content: [
        { type: 'mcp_tool_use', name: 'wiki' },
        { type: 'mcp_tool_result', content: [{ type: 'text', text: '{"a":1}' }] },
      ],
    })
  })
})

describe.each([
  ['Chat Completions', renderChat],
  ['Responses', renderResponses],
  ['Anthropic Messages', renderAnthropic],
])('over %s', (_, render) => {
  test('hang, end and fail have no terminal event', () => {
    expect(stopsOf(play(render, [{ text: 'a' }, { hang: true }, { text: 'b' }]))).toEqual([{ stop: 'hang' }])
    expect(stopsOf(play(render, [{ text: 'a' }, { end: true }]))).toEqual([{ stop: 'end' }])
    expect(stopsOf(play(render, [{ text: 'a' }, { error: { code: 'stream_error' } }]))).toEqual([
      { stop: 'end' },
    ])
    const failed = play(render, [{ text: 'a' }, { error: 'broken' }])
    expect(JSON.stringify(failed.events.at(-1))).toContain('broken')
    expect(JSON.stringify(failed.timeline)).not.toMatch(
      /\[DONE\]|message_stop|response\.completed|content_block_stop/,
    )
  })

  test('pauses keep their positions, and the text around them is one part', () => {
    const rendered = play(render, [{ text: 'a' }, { pause: 70 }, { text: 'b' }])
    expect(rendered.timeline).toContainEqual({ pauseMs: 70 })
    const together = play(render, [{ text: 'ab' }], { sizes: [1] })
    expect(rendered.timeline.filter((item) => 'frame' in item)).toEqual(together.timeline)
  })

  test('the same script yields the same bytes', () => {
    const steps = [{ reasoning: 'hm' }, { text: 'a' }, { call: 'b' }]
    expect(play(render, steps)).toEqual(play(render, steps))
  })

  test('deltas add up to the scripted text', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), sizes, (text, sizes) => {
        const steps = [{ text }, { call: 'x', raw: text }]
        const rendered = play(render, steps, { sizes })
        const deltas = rendered.events.map((event) => wordsIn(event))
        expect(deltas.map(([words]) => words).join('')).toBe(text)
        expect(deltas.map(([, args]) => args).join('')).toBe(text)
        expect(play(render, steps).whole).toEqual(rendered.whole)
      }),
    )
  })
})

/** The text and the arguments in one event of any wire. */
function wordsIn(event: JsonObject): [string, string] {
  const { type, delta, choices } = Object(event)
  if (type === 'response.output_text.delta') return [delta, '']
  if (type === 'response.function_call_arguments.delta') return ['', delta]
  const { text = '', partial_json = '' } = Object(type === 'content_block_delta' ? delta : {})
  const { content, tool_calls } = Object(choices?.[0]?.delta)
  return [text + (content ?? ''), partial_json + (tool_calls?.[0]?.function?.arguments ?? '')]
}
