import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import {
  asker,
  counter,
  delegator,
  muser,
  picker,
  spender,
  storyteller,
  until,
} from '../protocols.test-kit.ts'
import { scripted, serveModels } from './openai.test-kit.ts'
import { collect, failure, functionTool, outputTypes, pickColor, work, worker } from './responses.test-kit.ts'

describe('a conversation by previous_response_id', () => {
  test('continues with the output of the client', async () => {
    const { client } = await serveModels(worker().agent)
    const first = await client.responses.create(work)
    const second = await client.responses.create({
      ...work,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: 'call_c', output: 'three' }],
    })
    expect(second.output_text).toBe('All of it is done.')
    expect(second.previous_response_id).toBe(first.id)
    expect(outputTypes(second)).toEqual(['reasoning', 'message'])
    expect(await client.responses.retrieve(first.id)).toEqual(first)
  })

  test('continued twice is a fork: both answers see the same history', async () => {
    const model = scripted(({ messages }) => `${messages.length} messages`)
    const { client } = await serveModels(model)
    const ask = (input: string, previous?: string) =>
      client.responses
        .create({ model: 'miller', input, previous_response_id: previous ?? null })
        .withResponse()
    const first = await ask('One.')
    const [left, right] = await Promise.all([ask('Two.', first.data.id), ask('Two.', first.data.id)])
    expect(left.data.output_text).toBe('3 messages')
    expect(right.data.output_text).toBe('3 messages')
    expect(left.response.headers.get('x-thread-id')).not.toBe(right.response.headers.get('x-thread-id'))
    expect((await ask('Three.', left.data.id)).data.output_text).toBe('5 messages')
  })

  test('keeps developer messages, but not instructions', async () => {
    const { client } = await serveModels(scripted(({ messages }) => JSON.stringify(messages[0])))
    const first = await client.responses.create({
      model: 'miller',
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'Speak of mills.' },
        { role: 'user', content: 'Speak.' },
      ],
    })
    expect(first.instructions).toBe('Be brief.')
    expect(first.output_text).toContain('Be brief.\\n\\nSpeak of mills.')
    const second = await client.responses.create({
      model: 'miller',
      previous_response_id: first.id,
      input: 'And?',
    })
    expect(second.output_text).toContain('Speak of mills.')
    expect(second.output_text).not.toContain('Be brief.')
    expect(second.instructions).toBe(null)
  })

  test('without the output of a call is rejected, and nothing is written', async () => {
    const { client, eventsOf } = await serveModels(picker())
    const { data, response } = await client.responses.create(pickColor).withResponse()
    const threadId = response.headers.get('x-thread-id') as string
    const before = await eventsOf(threadId)
    const { status, error } = await failure(
      client.responses.create({
        ...pickColor,
        previous_response_id: data.id,
        input: [
          { type: 'function_call_output', call_id: 'call_2', output: 'blue' },
          { role: 'user', content: 'And?' },
        ],
      }),
    )
    expect(status).toBe(400)
    expect(error).toEqual({
      message: 'No tool output found for function call call_1.',
      type: 'invalid_request_error',
      param: 'input',
      code: null,
    })
    expect(await eventsOf(threadId)).toEqual(before)
  })

  test('of a response that is not known is rejected', async () => {
    const { client } = await serveModels(counter())
    const ask = (previous_response_id: string) =>
      failure(client.responses.create({ model: 'counter', input: 'Hi.', previous_response_id }))
    expect(await ask('resp_nothing_1')).toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    })
    const { id } = await client.responses.create({ model: 'counter', input: 'Hi.', store: false })
    expect(await ask(id)).toMatchObject({ status: 400, code: 'previous_response_not_found' })
    expect(await ask(id.replace('_u', ''))).toMatchObject({ status: 400 })
    expect(await failure(client.responses.retrieve(id))).toMatchObject({ status: 404 })
    expect(await failure(client.responses.retrieve(id.replace('_u', '')))).toMatchObject({ status: 404 })
    const reference = {
      type: 'item_reference' as const,
      id: `${id.replace('resp', 'msg').replace('_u', '')}_0`,
    }
    const input = [reference, { role: 'user' as const, content: 'Hi.' }]
    expect(await failure(client.responses.create({ model: 'counter', input }))).toMatchObject({
      status: 400,
      param: 'input[0].id',
    })
  })
})

describe('approvals', () => {
  const ask = { model: 'asker', input: 'Cut it.' }

  test.each([true, false])('of more than a budget allows: approve %s', async (approve) => {
    const { client } = await serveModels(spender())
    const model = 'spender'
    const first = await client.responses.create({ model, input: 'Look.' })
    const request = first.output.at(-1)
    if (request?.type !== 'mcp_approval_request') throw new Error(`the output is ${request?.type}`)
    expect(request).toMatchObject({ name: 'budget', arguments: '{"rounds":1}' })
    const input = [{ type: 'mcp_approval_response' as const, approval_request_id: request.id, approve }]
    const second = await client.responses.create({ model, previous_response_id: first.id, input })
    expect(second.output_text).toBe(approve ? 'I saw a mill.' : '')
    expect(second.status).toBe(approve ? 'completed' : 'incomplete')
  })

  test.each([true, false])('are asked and answered as items: approve %s', async (approve) => {
    const { client } = await serveModels(asker())
    const events = await collect(await client.responses.create({ ...ask, stream: true }))
    const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))
    expect(done).toMatchObject([{ type: 'mcp_call', status: 'incomplete' }, { type: 'mcp_approval_request' }])
    const first = events.at(-1)
    if (first?.type !== 'response.completed') throw new Error(`the last event is ${first?.type}`)
    const [request] = first.response.output
    if (request?.type !== 'mcp_approval_request') throw new Error(`the output is ${request?.type}`)
    const { id: approval_request_id, ...asked } = request
    expect(first.response.output).toHaveLength(1)
    expect(asked).toEqual({
      type: 'mcp_approval_request',
      name: 'cut_rope',
      arguments: '{"where":"here"}',
      server_label: 'millrace',
    })
    const second = await client.responses.create({
      ...ask,
      previous_response_id: first.response.id,
      input: [{ type: 'mcp_approval_response', approval_request_id, approve, reason: 'too high' }],
    })
    expect(second.output_text).toBe('It is cut.')
    const [call] = second.output
    expect(call).toMatchObject({ type: 'mcp_call', name: 'cut_rope', approval_request_id })
    if (approve) expect(call).toMatchObject({ status: 'completed', output: 'cut here', error: null })
    else expect(call).toMatchObject({ status: 'failed', output: null })
    if (!approve) expect(JSON.stringify(call)).toContain('too high')
    const { data } = await client.responses.inputItems.list(second.id)
    expect(data).toMatchObject([
      { type: 'mcp_approval_response', approval_request_id, approve, reason: 'too high' },
    ])
  })

  test('of a sub-agent are asked under their own id', async () => {
    const { client } = await serveModels(delegator())
    const first = await client.responses.create({ model: 'delegator', input: 'Cut it.' })
    const request = first.output.at(-1)
    expect(outputTypes(first)).toEqual(['mcp_approval_request'])
    const second = await client.responses.create({
      model: 'delegator',
      previous_response_id: first.id,
      input: [{ type: 'mcp_approval_response', approval_request_id: request?.id ?? '', approve: true }],
    })
    expect(second.output_text).toBe('It was done.')
    expect(second.output[0]).toMatchObject({ type: 'mcp_call', name: 'asker', status: 'completed' })
  })

  test('are found by their id if the client sends its whole conversation', async () => {
    const { client, app } = await serveModels(asker())
    const first = await client.responses.create(ask)
    const approval_request_id = first.output.at(-1)?.id ?? ''
    const second = await client.responses.create({
      ...ask,
      input: [
        { role: 'user', content: ask.input },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { type: 'mcp_approval_response', approval_request_id, approve: true },
      ],
    })
    expect(second.output_text).toBe('It is cut.')
    expect((await app.threads()).threads).toHaveLength(1)
    const unknown = {
      type: 'mcp_approval_response' as const,
      approval_request_id: 'mcpr_x:1:a',
      approve: true,
    }
    expect(await failure(client.responses.create({ ...ask, input: [unknown] }))).toMatchObject({
      status: 400,
      param: 'input',
    })
  })

  test('that are not answered are an error', async () => {
    const { client } = await serveModels(asker())
    const { id } = await client.responses.create(ask)
    const more = { ...ask, previous_response_id: id }
    const other = { type: 'mcp_approval_response' as const, approval_request_id: 'mcpr_x', approve: true }
    expect(await failure(client.responses.create({ ...more, input: [other] }))).toMatchObject({
      status: 400,
      param: 'input',
    })
  })
})

describe('canceling', () => {
  test('ends a response in the background, and its stream', async () => {
    const { client } = await serveModels(muser())
    const stream = await client.responses.create({
      model: 'muser',
      input: 'Muse.',
      background: true,
      stream: true,
    })
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type !== 'response.output_text.delta') continue
      const { response } = events[0] as OpenAI.Responses.ResponseCreatedEvent
      expect((await client.responses.retrieve(response.id)).status).toBe('in_progress')
      expect((await client.responses.cancel(response.id)).status).toBe('cancelled')
    }
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'cancelled', output: [{ content: [{ text: 'Hm.' }] }] },
    })
  })

  test('ends a response that no run has read yet', async () => {
    const { client } = await serveModels(storyteller(), { app: { works: false } })
    const ask = { model: 'storyteller', input: 'Tell me.', background: true }
    const { id, status } = await client.responses.create(ask)
    expect(status).toBe('queued')
    expect((await client.responses.cancel(id)).status).toBe('cancelled')
    expect((await client.responses.retrieve(id)).status).toBe('cancelled')
    const events = await collect(await client.responses.retrieve(id, { stream: true }))
    expect(events.at(-1)).toMatchObject({ type: 'response.incomplete', response: { status: 'cancelled' } })
  })

  test('does nothing to a response that has ended', async () => {
    const { client } = await serveModels(storyteller())
    const response = await client.responses.create({ model: 'storyteller', input: 'Tell me.' })
    const { output_text, ...canceled } = await client.responses.cancel(response.id)
    expect({ output_text: response.output_text, ...canceled }).toEqual(response)
  })

  test('does nothing to the response that continues the one that is named', async () => {
    const { client } = await serveModels(
      scripted(({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? [{ text: 'Hm.' }, { hang: true }]
          : [{ call: 'pick', id: 'call_1' }],
      ),
    )
    const ask = { model: 'miller', input: 'Pick.', tools: [functionTool('pick', {})] }
    const first = await client.responses.create(ask)
    const second = await client.responses.create({
      ...ask,
      background: true,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: 'call_1', output: 'red' }],
    })
    await expect.poll(() => client.responses.retrieve(second.id)).toMatchObject({ output_text: 'Hm.' })
    expect((await client.responses.cancel(first.id)).status).toBe('completed')
    expect((await client.responses.retrieve(second.id)).status).toBe('in_progress')
    expect((await client.responses.cancel(second.id)).status).toBe('cancelled')
  })

  test('by hanging up stops the run', async () => {
    const { client, threadOf } = await serveModels(muser(), { openai: { graceMs: 0 } })
    const { data, response } = await client.responses
      .create({ model: 'muser', input: 'Muse.', stream: true })
      .withResponse()
    const thread = threadOf(response.headers.get('x-thread-id') as string)
    for await (const event of data) if (event.type === 'response.output_text.delta') break
    await until(async () => (await thread.info()).status === 'idle')
    expect((await thread.state()).run?.outcome).toBe('canceled')
  })
})
