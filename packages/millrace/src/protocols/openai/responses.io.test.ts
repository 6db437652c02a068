import { zodTextFormat } from 'openai/helpers/zod'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { counter, picker, story, storyteller } from '../protocols.test-kit.ts'
import { scripted, serveModels } from './openai.test-kit.ts'
import { collect, failure, functionTool, outputTypes, pickColor, work, worker } from './responses.test-kit.ts'

describe('a response', () => {
  test('has the text of the answer', async () => {
    const { client } = await serveModels(storyteller())
    const response = await client.responses.create({ model: 'storyteller', input: 'Tell me.' })
    expect(response).toMatchObject({ output_text: story, status: 'completed', model: 'storyteller' })
  })

  test('has what the server did, and the calls for the client', async () => {
    const { agent, ran } = worker()
    const { client } = await serveModels(agent)
    const { output, usage } = await client.responses.create(work)
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'First I look, then I weigh.' }] },
      { type: 'message', status: 'completed', content: [{ text: 'Let me look at the wheel.' }] },
      {
        type: 'mcp_call',
        status: 'completed',
        name: 'look',
        arguments: '{"at":"wheel"}',
        output: 'look at wheel',
        error: null,
      },
      { type: 'mcp_call', name: 'weigh', output: 'weigh at flour' },
      {
        type: 'function_call',
        status: 'completed',
        call_id: 'call_c',
        name: 'pick',
        arguments: '{"of":"sacks"}',
      },
    ])
    expect(new Set(output.map(({ id }) => id)).size).toBe(output.length)
    expect(ran.toSorted()).toEqual(['look', 'weigh'])
    expect(usage).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 15,
    })
  })

  test('is the same at the end of a stream and retrieved', async () => {
    const { client } = await serveModels(worker().agent)
    const events = await collect(await client.responses.create({ ...work, stream: true }))
    const last = events.at(-1)
    if (last?.type !== 'response.completed') throw new Error(`the last event is ${last?.type}`)
    const { output_text, ...retrieved } = await client.responses.retrieve(last.response.id)
    expect(last.response).toEqual(retrieved)
    expect(output_text).toBe('Let me look at the wheel.')
    const numbers = events.map(({ sequence_number }) => sequence_number)
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
  })

  test('is built from a stream by the SDK', async () => {
    const { client } = await serveModels(worker().agent)
    const stream = client.responses.stream(work)
    const deltas: string[] = []
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta))
    const final = await stream.finalResponse()
    expect(deltas.join('')).toBe(final.output_text)
    expect(outputTypes(final)).toEqual(['reasoning', 'message', 'mcp_call', 'mcp_call', 'function_call'])
  })

  test('repeats what was sent, also when it is retrieved', async () => {
    const { client } = await serveModels(counter())
    const text = { format: { type: 'json_schema' as const, name: 'answer', schema: { type: 'object' } } }
    const asked = {
      model: 'counter',
      input: 'Count.',
      instructions: 'Be brief.',
      metadata: { topic: 'mills' },
      temperature: 0.5,
      top_p: 0.9,
      max_output_tokens: 100,
      parallel_tool_calls: false,
      tool_choice: 'none' as const,
      tools: [functionTool('pick')],
      reasoning: { effort: 'low' as const },
    }
    const { output_text, ...created } = await client.responses.create({ ...asked, text })
    expect(output_text).toContain('"temperature":0.5')
    const { input: _, reasoning, ...repeated } = asked
    expect(created).toMatchObject({ ...repeated, reasoning: { ...reasoning, summary: null } })
    expect(created.text).toEqual({
      format: { ...text.format, description: null, strict: false },
      verbosity: 'medium',
    })
    expect(await client.responses.retrieve(created.id)).toEqual({ ...created, output_text })
  })
})

test('only a response that is alone in its thread can be deleted', async () => {
  const { client } = await serveModels(counter())
  const ask = (input: string, previous_response_id?: string) =>
    client.responses.create({
      model: 'counter',
      input,
      ...(previous_response_id && { previous_response_id }),
    })
  const first = await ask('One.')
  const second = await ask('Two.', first.id)
  const { status, message } = await failure(client.responses.delete(first.id))
  expect(status).toBe(400)
  const [, conversation = ''] = /'(conv_[^']+)'/.exec(message) ?? []
  await client.conversations.delete(conversation)
  expect(await failure(client.responses.retrieve(second.id))).toMatchObject({ status: 404 })
  const alone = await ask('Three.')
  await client.responses.delete(alone.id)
  expect(await failure(client.responses.retrieve(alone.id))).toMatchObject({ status: 404 })
})

test('the input of a response is listed', async () => {
  const { client } = await serveModels(picker())
  const image = 'data:image/png;base64,iVBORw0KGgo='
  const first = await client.responses.create({
    ...pickColor,
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Pick.' },
          { type: 'input_image', image_url: image, detail: 'auto' },
        ],
      },
    ],
  })
  expect((await client.responses.inputItems.list(first.id)).data).toMatchObject([
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Pick.' },
        { type: 'input_image', image_url: image },
      ],
    },
  ])
  const second = await client.responses.create({
    ...pickColor,
    previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id: 'call_1', output: 'blue' }],
  })
  expect(second.output_text).toBe('It is [{"type":"text","text":"blue"}].')
  expect((await client.responses.inputItems.list(second.id)).data).toMatchObject([
    { type: 'function_call_output', call_id: 'call_1', output: 'blue' },
  ])
})

test('structured output is parsed by the SDK', async () => {
  const { client } = await serveModels(scripted(({ output }) => (output ? '{"sacks":3}' : 'three')))
  const format = zodTextFormat(z.object({ sacks: z.number() }), 'count')
  const response = await client.responses.parse({ model: 'miller', input: 'Count.', text: { format } })
  expect(response.output_parsed).toEqual({ sacks: 3 })
})

test('what was retracted is closed in the stream, and not in the response', async () => {
  let isBroken = false
  const { client } = await serveModels(
    scripted(() => {
      if (isBroken) return 'The wheel turns.'
      isBroken = true
      return [{ text: 'The whe' }, { error: { code: 'stream_error', message: 'cut' } }]
    }),
  )
  const stream = client.responses.stream({ model: 'miller', input: 'Go.' })
  const events = await collect(stream)
  const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))
  expect(done).toMatchObject([
    { status: 'incomplete', content: [{ text: 'The whe' }] },
    { status: 'completed', content: [{ text: 'The wheel turns.' }] },
  ])
  expect((await stream.finalResponse()).output).toMatchObject([{ content: [{ text: 'The wheel turns.' }] }])
})

describe('a run that fails', () => {
  const failing = (text?: string) =>
    scripted(() => [
      ...(text ? [{ text }] : []),
      { error: { code: 'rate_limit', message: 'slow down', retryable: false } },
    ])

  test('before its first output is an HTTP error', async () => {
    const { client } = await serveModels(failing())
    const ask = { model: 'miller', input: 'Go.' }
    for (const stream of [false, true])
      expect(await failure(client.responses.create({ ...ask, stream }))).toMatchObject({
        status: 429,
        code: 'rate_limit_exceeded',
      })
  })

  test('in the background is a failed response', async () => {
    const { client } = await serveModels(failing('The whe'))
    const { id } = await client.responses.create({ model: 'miller', input: 'Go.', background: true })
    await expect
      .poll(() => client.responses.retrieve(id))
      .toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded', message: 'slow down' } })
    const events = await collect(await client.responses.retrieve(id, { stream: true }))
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } })
  })
})

test.each([
  [{ previous_response_id: 'resp_a_1', conversation: 'conv_a' }, 'previous_response_id'],
  [{ background: true, store: false }, 'background'],
  [{ input: 7 }, 'input'],
  [{ input: [] }, 'input'],
  [{ model: undefined }, 'model'],
])('%j is rejected with the name of the field', async (fields, param) => {
  const { client } = await serveModels(counter())
  const body = { model: 'counter', input: 'Hi.', ...fields } as never
  expect(await failure(client.responses.create(body))).toMatchObject({ status: 400, param })
})
