import type { JsonObject } from 'millrace'
import type { ScriptRound } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import type { Fault } from './faults.ts'
import { providerSimulator } from './provider-simulator.ts'
import { ask, eventsOf, minimalRequest, post, wires } from './raw-client.test-kit.ts'
import type { Wire } from './wire.ts'

// Faults that change the response itself, not how its bytes arrive.

const round: ScriptRound = [
  { reasoning: 'hm' },
  { text: 'Hello' },
  { call: 'look', input: { id: 'ORD-42' }, id: 'call_mine' },
]

async function streamOf(wire: Wire, script: ScriptRound, ...faults: Fault[]) {
  await using sim = await providerSimulator(() => script, { faults })
  const response = await ask(sim, wire)
  return { events: eventsOf(await response.text()) as JsonObject[], faults: sim.requests[0]?.faults }
}

const typesOf = (events: readonly JsonObject[]) => events.map(({ type }) => type)
const ofType = (events: readonly JsonObject[], type: string) => events.filter((event) => event.type === type)
/** Every id in a response: its own, and those of its items, blocks and calls. */
const idsOf = (events: readonly JsonObject[]) =>
  new Set(JSON.stringify(events).match(/(?<="(?:id|item_id|call_id)":")[^"]+/g))
const isStart: Record<Wire, (event: JsonObject) => boolean> = {
  'openai-chat': (event) => JSON.stringify(event).includes('"role"'),
  'openai-responses': ({ type }) => type === 'response.created' || type === 'response.in_progress',
  anthropic: ({ type }) => type === 'message_start',
}

describe.each(wires)('over %s', (wire) => {
  test('a splice cuts the stream and appends a second response with new ids', async () => {
    const { events: plain } = await streamOf(wire, round)
    const { events, faults } = await streamOf(wire, round, { kind: 'splice', event: 4 })
    expect(faults).toEqual([{ kind: 'splice', event: 4 }])
    expect(events.slice(0, 4)).toEqual(plain.slice(0, 4))
    const second = events.slice(4)
    expect(typesOf(second)).toEqual(typesOf(plain))
    expect(second.filter((event) => isStart[wire](event))).toHaveLength(wire === 'openai-responses' ? 2 : 1)
    const ids = idsOf(second)
    expect(ids.size).toBe(idsOf(plain).size)
    expect([...ids].filter((id) => idsOf(plain).has(id))).toEqual([])
    if (wire !== 'openai-responses') return
    expect(second.map(({ sequence_number }) => sequence_number)).toEqual(second.map((_, index) => index))
    expect(second.at(-1)).toMatchObject({
      response: { output: ofType(second, 'response.output_item.done').map(({ item }) => item) },
    })
  })

  test('a splice without a start continues the first response', async () => {
    const { events: plain } = await streamOf(wire, round)
    const { events } = await streamOf(wire, round, { kind: 'splice', event: 5, start: false })
    const second = events.slice(5)
    const rest = plain.filter((event) => !isStart[wire](event))
    expect(typesOf(second)).toEqual(typesOf(rest))
    if (wire === 'openai-chat')
      expect(new Set(events.slice(0, -1).map(({ id }) => id))).toEqual(new Set([plain[0]?.id]))
    if (wire === 'openai-responses')
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    const indexes = (list: readonly JsonObject[]) =>
      list.map(({ index, output_index }) => index ?? output_index).filter((index) => index !== undefined)
    expect(indexes(second)).toEqual(indexes(rest))
  })

  test('the second response of a splice may have other content', async () => {
    const { events } = await streamOf(wire, 'Hello', { kind: 'splice', event: 2, round: [{ call: 'other' }] })
    expect(JSON.stringify(events.slice(2))).toContain('"name":"other"')
    expect(JSON.stringify(events.slice(2))).not.toContain('Hello')
  })

  test('an empty response has only a start and an end', async () => {
    const expected = {
      'openai-chat': [
        { choices: [{ delta: { role: 'assistant', content: '' }, finish_reason: null }] },
        { choices: [{ delta: {}, finish_reason: 'stop' }] },
        '[DONE]',
      ],
      'openai-responses': [
        { type: 'response.created' },
        { type: 'response.in_progress' },
        { type: 'response.completed', response: { status: 'completed', output: [] } },
      ],
      anthropic: [
        { type: 'message_start', message: { content: [] } },
        { type: 'ping' },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      ],
    }[wire]
    const { events, faults } = await streamOf(wire, round, { kind: 'empty', finish: 'stop' })
    expect(events).toHaveLength(expected.length)
    expect(events).toMatchObject(expected)
    expect(faults).toHaveLength(1)
    const bare = await streamOf(wire, round, { kind: 'empty' })
    if (wire === 'openai-chat') expect(bare.events).toEqual(['[DONE]'])
    else expect(bare.events).toEqual(events)
  })

  test('an empty response may finish with tool-calls', async () => {
    const { events } = await streamOf(wire, round, { kind: 'empty', finish: 'tool-calls' })
    const text = JSON.stringify(events)
    expect(text).not.toContain('look')
    if (wire === 'openai-chat') expect(text).toContain('"finish_reason":"tool_calls"')
    if (wire === 'anthropic') expect(text).toContain('"stop_reason":"tool_use"')
    if (wire === 'openai-responses') expect(text).toContain('"status":"completed"')
  })

  test('an unclosed call is half written, and the response ends with stop', async () => {
    const two: ScriptRound = [...round, { call: 'late' }]
    const { events, faults } = await streamOf(wire, two, { kind: 'unclosed-call', call: 0 })
    expect(faults).toHaveLength(1)
    const text = JSON.stringify(events)
    expect(text).toContain('"name":"look"')
    expect(text).toContain('{\\"id\\":\\"')
    expect(text).not.toContain('ORD-42')
    expect(text).not.toContain('"name":"late"')
    if (wire === 'openai-chat') expect(text).toContain('"finish_reason":"stop"')
    if (wire === 'anthropic') {
      expect(text).toContain('"stop_reason":"end_turn"')
      expect(ofType(events, 'content_block_start')).toHaveLength(3)
      expect(ofType(events, 'content_block_stop').map(({ index }) => index)).toEqual([0, 1])
    }
    if (wire === 'openai-responses') {
      expect(ofType(events, 'response.output_item.added')).toHaveLength(3)
      expect(ofType(events, 'response.output_item.done').map(({ output_index }) => output_index)).toEqual([
        0, 1,
      ])
      expect(text).not.toContain('function_call_arguments.done')
      expect(events.at(-1)).toMatchObject({
        type: 'response.completed',
        response: { output: [{ type: 'reasoning' }, { type: 'message' }] },
      })
    }
  })

  test('a fault that does not apply to this wire or response changes nothing and is not reported', async () => {
    const { events: plain } = await streamOf(wire, 'Hello')
    const strange: Fault[] = [
      { kind: 'custom-provider-calls' },
      { kind: 'unclosed-call', call: 0 },
      { kind: 'no-item-done', item: wire === 'openai-responses' ? 1 : 0 },
      { kind: 'splice', event: 99 },
    ]
    if (wire !== 'anthropic') strange.push({ kind: 'content-in-start' })
    const { events, faults } = await streamOf(wire, 'Hello', ...strange)
    expect(events).toEqual(plain)
    expect(faults).toEqual([])
  })

  test.each<Fault>([{ kind: 'splice', event: 3 }, { kind: 'empty' }, { kind: 'unclosed-call', call: 0 }])(
    '%j is followed by the same round when the client asks again',
    async (fault) => {
      await using sim = await providerSimulator([[{ call: 'one' }], 'two'], {
        faults: [{ ...fault, request: 0 }],
      })
      await (await ask(sim, wire)).text()
      const again = await (await ask(sim, wire)).text()
      expect(again).toContain('"name":"one"')
      expect(await (await ask(sim, wire)).text()).toContain('two')
    },
  )
})

describe('Anthropic content in message_start', () => {
  const script: ScriptRound = [
    { reasoning: 'hm' },
    { providerTool: 'code_execution', input: { code: 'lookup()' }, output: 'ok' },
    { call: 'lookup_customer', input: { id: 'customer_123' } },
  ]

  test('is followed by nothing else, and includes the container and the stop reason', async () => {
    const { events, faults } = await streamOf('anthropic', script, { kind: 'content-in-start' })
    expect(faults).toHaveLength(1)
    expect(events).toEqual([
      {
        type: 'message_start',
        message: {
          id: expect.stringMatching(/^msg_/),
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [
            { type: 'thinking', thinking: 'hm', signature: expect.any(String) },
            {
              type: 'server_tool_use',
              id: expect.stringMatching(/^srvtoolu_/),
              name: 'code_execution',
              input: { code: 'lookup()' },
            },
            expect.objectContaining({ type: 'code_execution_tool_result' }),
            {
              type: 'tool_use',
              id: expect.stringMatching(/^toolu_/),
              name: 'lookup_customer',
              input: { id: 'customer_123' },
              caller: {
                type: 'code_execution_20250825',
                tool_id: expect.stringMatching(/^srvtoolu_/),
              },
            },
          ],
          container: { id: expect.stringMatching(/^container_/), expires_at: expect.any(String) },
          stop_reason: 'tool_use',
          stop_sequence: null,
          usage: expect.objectContaining({ input_tokens: expect.any(Number) }),
        },
      },
      { type: 'message_stop' },
    ])
  })

  test('is accepted unchanged, with the container as an id or an object', async () => {
    await using sim = await providerSimulator([script, 'Done.', 'Done.'], {
      faults: [{ kind: 'content-in-start', request: 0 }],
    })
    const [start] = eventsOf(await (await ask(sim, 'anthropic')).text()) as JsonObject[]
    const { content, container } = Object(start?.message)
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: content.at(-1).id, content: 'x' }] },
    ]
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    const body = { model: 'm', max_tokens: 4096, thinking, messages }
    for (const sent of [container.id, { id: container.id }])
      expect((await post(sim, 'anthropic', { ...body, container: sent })).status).toBe(200)
    const rejected = await post(sim, 'anthropic', { ...body, container: 7 })
    expect([rejected.status, (await rejected.json()).error.message]).toEqual([
      400,
      'container: Input should be a valid string',
    ])
  })

  test('has no effect if the stream breaks', async () => {
    const { events, faults } = await streamOf('anthropic', [{ text: 'a' }, { end: true }], {
      kind: 'content-in-start',
    })
    expect(faults).toEqual([])
    expect(typesOf(events)).toContain('content_block_start')
  })
})

describe('custom provider calls on Responses', () => {
  const script: ScriptRound = [
    { providerTool: 'x_keyword_search', input: { query: 'rain' } },
    { providerTool: 'x_semantic_search', input: { query: 'sun' } },
    { text: 'Wet.' },
  ]

  test('are completed items, the second added before the first is done', async () => {
    const { events, faults } = await streamOf('openai-responses', script, { kind: 'custom-provider-calls' })
    expect(faults).toHaveLength(1)
    const about = events.filter(({ type }) => /output_item|custom_tool/.test(String(type)))
    expect(about.slice(0, 8).map(({ type, output_index }) => `${type} ${output_index}`)).toEqual([
      'response.output_item.added 0',
      'response.custom_tool_call_input.delta 0',
      'response.output_item.added 1',
      'response.custom_tool_call_input.delta 1',
      'response.custom_tool_call_input.done 0',
      'response.output_item.done 0',
      'response.custom_tool_call_input.done 1',
      'response.output_item.done 1',
    ])
    const item = {
      type: 'custom_tool_call',
      name: 'x_keyword_search',
      id: expect.stringMatching(/^ctc_/),
      call_id: expect.stringMatching(/^xs_call_/),
    }
    expect(about[0]?.item).toEqual({ ...item, input: '', status: 'in_progress' })
    expect(about[1]).toMatchObject({ item_id: Object(about[0]?.item).id, delta: '{"query":"rain"}' })
    expect(about[4]).toMatchObject({ input: '{"query":"rain"}' })
    expect(about[5]?.item).toEqual({ ...item, input: '{"query":"rain"}', status: 'completed' })
    expect(about[8]).toMatchObject({ output_index: 2, item: { type: 'message' } })
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    expect(events.at(-1)).toMatchObject({
      response: { output: ofType(events, 'response.output_item.done').map(({ item }) => item) },
    })
  })

  test('are accepted unchanged', async () => {
    await using sim = await providerSimulator([script, 'Done.'], {
      faults: [{ kind: 'custom-provider-calls', request: 0 }],
    })
    const events = eventsOf(await (await ask(sim, 'openai-responses')).text()) as JsonObject[]
    const { output } = Object(events.at(-1)?.response)
    const user = { role: 'user', content: 'hi' }
    const body = { ...minimalRequest('openai-responses'), input: [user, ...output, user] }
    expect((await post(sim, 'openai-responses', body)).status).toBe(200)
  })

  test('with text in between are added one after the other', async () => {
    const apart: ScriptRound = [{ providerTool: 'a' }, { text: 'and' }, { providerTool: 'b' }]
    const { events } = await streamOf('openai-responses', apart, { kind: 'custom-provider-calls' })
    const order = events.flatMap(({ type, output_index }) =>
      /output_item/.test(String(type)) ? [output_index] : [],
    )
    expect(order).toEqual([0, 0, 1, 1, 2, 2])
  })
})

test('a Responses item without its done event is only in the completed response', async () => {
  const { events: plain } = await streamOf('openai-responses', round)
  const { events, faults } = await streamOf('openai-responses', round, { kind: 'no-item-done', item: 2 })
  expect(faults).toHaveLength(1)
  const isLeftOut = ({ type, output_index }: JsonObject) =>
    type === 'response.output_item.done' && output_index === 2
  expect(plain.some(isLeftOut)).toBe(true)
  expect(typesOf(events)).toEqual(typesOf(plain.filter((event) => !isLeftOut(event))))
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
  expect(events.at(-1)).toMatchObject({ response: { output: [{}, {}, { type: 'function_call' }] } })
})

test('reasoning items of both responses of a splice are accepted', async () => {
  await using sim = await providerSimulator(() => round, {
    faults: [{ kind: 'splice', event: 9, request: 0 }],
  })
  const events = eventsOf(await (await ask(sim, 'openai-responses')).text()) as JsonObject[]
  const items = ofType(events, 'response.output_item.done').map(({ item }) => item as JsonObject)
  const thoughts = items.filter(({ type }) => type === 'reasoning')
  expect(thoughts).toHaveLength(2)
  for (const item of thoughts) {
    const input = [{ role: 'user', content: 'hi' }, item, { role: 'assistant', content: 'Hello' }]
    expect((await post(sim, 'openai-responses', { model: 'm', input })).status).toBe(200)
  }
})
