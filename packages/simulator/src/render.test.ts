import fc from 'fast-check'
import type { JsonObject } from 'millrace'
import type { ScriptStep } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { renderAnthropic } from './render-anthropic.ts'
import { renderChat } from './render-chat.ts'
import { renderResponses } from './render-responses.ts'
import { scenarioOf } from './scenario.ts'
import type { Beat, Rendered, RenderInput } from './wire.ts'

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
    scenario: scenarioOf(steps, { sizes, promptChars: 40 }),
    nextId: (prefix) => `${prefix}${++ids}`,
    created: 1,
  })
  return { ...rendered, events: rendered.beats.flatMap(eventOf) }
}

const eventOf = (beat: Beat) =>
  'frame' in beat && typeof beat.frame.data !== 'string' ? [beat.frame.data] : []
const stopsOf = ({ beats }: Rendered) => beats.filter((beat) => 'stop' in beat)
const types = ({ events }: { events: JsonObject[] }) => events.map(({ type }) => type)

describe('Chat Completions', () => {
  const chat = (steps: readonly ScriptStep[], body: JsonObject = {}, sizes?: readonly number[]) =>
    play(renderChat, steps, { body, ...(sizes && { sizes }) })
  const deltas = ({ events }: { events: JsonObject[] }) =>
    events.map(({ choices }) => (choices as unknown as { delta: unknown }[])[0]?.delta)

  test('words come after a chunk with the role, and end with a reason and [DONE]', () => {
    const told = chat([{ text: 'Hello' }], {}, [3])
    expect(told.events[1]).toEqual({
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
    expect(deltas(told)).toEqual([
      { role: 'assistant', content: '', refusal: null },
      { content: 'Hel' },
      { content: 'lo' },
      {},
    ])
    expect(told.events.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
    expect(told.beats.at(-1)).toEqual({ frame: { data: '[DONE]' } })
  })

  test('calls are told apart by index; id and name come once', () => {
    const told = chat([
      { call: 'a', input: { x: 1 } },
      { call: 'b', id: 'mine' },
    ])
    expect(deltas(told)).toEqual([
      { role: 'assistant', content: null, refusal: null },
      { tool_calls: [{ index: 0, id: 'call_2', type: 'function', function: { name: 'a', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"x":1}' } }] },
      { tool_calls: [{ index: 1, id: 'mine', type: 'function', function: { name: 'b', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
      {},
    ])
    expect(told.whole).toMatchObject({
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

  test('reasoning, refusals and signatures have fields of their own', () => {
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

  test('usage is told if the request asks for it, in a chunk of its own', () => {
    expect(chat([{ text: 'a' }, { usage }]).events.every((event) => !('usage' in event))).toBe(true)
    const asked = chat([{ text: 'a' }, { usage }], { stream_options: { include_usage: true } })
    const [last, ...before] = asked.events.toReversed()
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

  test('a tool of the provider is nothing it knows', () => {
    const told = chat([{ providerTool: 'web_search', output: 'x' }, { text: 'a' }])
    expect(deltas(told)).toHaveLength(3)
  })
})

describe('Responses', () => {
  const responses = (steps: readonly ScriptStep[], body?: JsonObject) =>
    play(renderResponses, steps, body ? { body } : {})

  test('every item is added, filled and done, and the whole is told at the end', () => {
    const told = responses([
      { reasoning: 'hm' },
      { text: 'Hi' },
      { call: 'look', input: { id: 1 } },
      { usage },
    ])
    expect(types(told)).toEqual([
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
    expect(told.events.map(({ sequence_number }) => sequence_number)).toEqual(
      told.events.map((_, index) => index),
    )
    const items = told.events.filter(({ type }) => type === 'response.output_item.done')
    expect(items.map(({ output_index }) => output_index)).toEqual([0, 1, 2])
    expect(told.events.at(-1)).toMatchObject({ response: told.whole })
    expect(told.whole).toMatchObject({ status: 'completed', output: items.map(({ item }) => item) })
    expect(told.whole.usage).toEqual({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 120,
    })
  })

  test('the encrypted thought is there if it is asked for, or written', () => {
    const item = (told: { events: JsonObject[] }) =>
      told.events.find(({ type }) => type === 'response.output_item.done')?.item
    expect(item(responses([{ reasoning: 'hm' }]))).not.toHaveProperty('encrypted_content')
    const asked = responses([{ reasoning: 'hm' }], { include: ['reasoning.encrypted_content'] })
    expect(item(asked)).toMatchObject({ encrypted_content: expect.stringMatching(/^gAAAA/) })
    const opaque = { provider: 'openai', data: { encrypted_content: 'mine', id: 'rs_mine' } }
    expect(item(responses([{ reasoning: '', opaque }]))).toEqual({
      id: 'rs_mine',
      type: 'reasoning',
      encrypted_content: 'mine',
      summary: [],
    })
  })

  test('an answer that is cut off is incomplete, and so is its last item', () => {
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

  test('a refusal is a part of its own', () => {
    const told = responses([{ text: 'no' }, { finish: 'refusal' }])
    expect(types(told).slice(4, 6)).toEqual(['response.refusal.delta', 'response.refusal.done'])
    expect(told.whole).toMatchObject({ output: [{ content: [{ type: 'refusal', refusal: 'no' }] }] })
  })

  test.each([
    ['web_search', 'web_search_call', { action: { type: 'search', query: 'rain' } }],
    ['file_search', 'file_search_call', { queries: ['rain'] }],
    ['code_interpreter', 'code_interpreter_call', { outputs: [{ type: 'logs', logs: 'wet' }] }],
    ['image_generation', 'image_generation_call', { result: 'wet' }],
    ['ask_deepwiki', 'mcp_call', { name: 'ask_deepwiki', arguments: '{"query":"rain"}', output: 'wet' }],
  ])('%s is a %s', (providerTool, type, fields) => {
    const told = responses([{ providerTool, input: { query: 'rain' }, output: 'wet' }])
    expect(told.whole).toMatchObject({ output: [{ type, status: 'completed', ...fields }] })
    expect(types(told).filter((one) => String(one).startsWith(`response.${type}`)).length).toBeGreaterThan(1)
  })
})

describe('Anthropic Messages', () => {
  const anthropic = (steps: readonly ScriptStep[]) => play(renderAnthropic, steps)

  test('every block is started, filled and stopped', () => {
    const told = anthropic([{ reasoning: 'hm' }, { text: 'Hi' }, { call: 'look' }, { usage }])
    expect(types(told)).toEqual([
      'message_start',
      'ping',
      ...['content_block_start', 'content_block_delta', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_delta', 'content_block_stop'],
      'message_delta',
      'message_stop',
    ])
    expect(told.events[4]).toEqual({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'signature_delta', signature: expect.any(String) },
    })
    expect(told.whole).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'Hi' },
        { type: 'tool_use', id: 'toolu_012', name: 'look', input: {} },
      ],
    })
  })

  test('cached tokens are counted beside the input, and the end counts from the beginning', () => {
    const { events } = anthropic([{ text: 'Hi' }, { usage }])
    const cached = { cache_creation_input_tokens: 10, cache_read_input_tokens: 60 }
    expect(events[0]).toMatchObject({ message: { usage: { input_tokens: 30, ...cached, output_tokens: 1 } } })
    expect(events.at(-2)).toMatchObject({ usage: { input_tokens: 30, ...cached, output_tokens: 20 } })
  })

  test('thoughts that may not be shown come as they are', () => {
    const redacted = { provider: 'anthropic', data: { redacted: 'xyz' } }
    const told = anthropic([{ reasoning: '', opaque: redacted }, { text: 'Hi' }])
    expect(types(told).slice(2, 4)).toEqual(['content_block_start', 'content_block_stop'])
    expect(told.whole).toMatchObject({ content: [{ type: 'redacted_thinking', data: 'xyz' }, {}] })
    const signed = { provider: 'anthropic', data: { signature: 'mine' } }
    expect(anthropic([{ reasoning: 'hm', opaque: signed }]).whole).toMatchObject({
      content: [{ type: 'thinking', thinking: 'hm', signature: 'mine' }],
    })
  })

  test('a call that is cut off is stopped all the same', () => {
    const told = anthropic([{ call: 'a', raw: '{"x', cut: true }, { finish: 'length' }])
    expect(types(told).slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop'])
    expect(told.whole).toMatchObject({ stop_reason: 'max_tokens' })
  })

  test('a tool of the provider is a use and a result', () => {
    const told = anthropic([{ providerTool: 'web_search', input: { query: 'rain' }, output: 'wet' }])
    expect(told.whole).toMatchObject({
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
  test('hanging, ending and failing leave no terminal event', () => {
    expect(stopsOf(play(render, [{ text: 'a' }, { hang: true }, { text: 'b' }]))).toEqual([{ stop: 'hang' }])
    expect(stopsOf(play(render, [{ text: 'a' }, { end: true }]))).toEqual([{ stop: 'end' }])
    expect(stopsOf(play(render, [{ text: 'a' }, { error: { code: 'stream_error' } }]))).toEqual([
      { stop: 'end' },
    ])
    const failed = play(render, [{ text: 'a' }, { error: 'broken' }])
    expect(JSON.stringify(failed.events.at(-1))).toContain('broken')
    expect(JSON.stringify(failed.beats)).not.toMatch(
      /\[DONE\]|message_stop|response\.completed|content_block_stop/,
    )
  })

  test('pauses stand where they are written, and words around them are one part', () => {
    const told = play(render, [{ text: 'a' }, { pause: 70 }, { text: 'b' }])
    expect(told.beats).toContainEqual({ pauseMs: 70 })
    const together = play(render, [{ text: 'ab' }], { sizes: [1] })
    expect(told.beats.filter((beat) => 'frame' in beat)).toEqual(together.beats)
  })

  test('the same script gives the same bytes', () => {
    const steps = [{ reasoning: 'hm' }, { text: 'a' }, { call: 'b' }]
    expect(play(render, steps)).toEqual(play(render, steps))
  })

  test('whatever the deltas, together they are what was written', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), sizes, (text, sizes) => {
        const steps = [{ text }, { call: 'x', raw: text }]
        const told = play(render, steps, { sizes })
        const deltas = told.events.map((event) => wordsIn(event))
        expect(deltas.map(([words]) => words).join('')).toBe(text)
        expect(deltas.map(([, args]) => args).join('')).toBe(text)
        expect(play(render, steps).whole).toEqual(told.whole)
      }),
    )
  })
})

/** The words and the arguments in one event of any wire. */
function wordsIn(event: JsonObject): [string, string] {
  const { type, delta, choices } = Object(event)
  if (type === 'response.output_text.delta') return [delta, '']
  if (type === 'response.function_call_arguments.delta') return ['', delta]
  const { text = '', partial_json = '' } = Object(type === 'content_block_delta' ? delta : {})
  const { content, tool_calls } = Object(choices?.[0]?.delta)
  return [text + (content ?? ''), partial_json + (tool_calls?.[0]?.function?.arguments ?? '')]
}
