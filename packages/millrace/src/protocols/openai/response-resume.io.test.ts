import type OpenAI from 'openai'
import { expect, test } from 'vitest'
import { cuttingProxy } from '../../client/cutting-proxy.test-kit.ts'
import { muser, sseFrames, story, storyteller, until } from '../protocols.test-kit.ts'
import { clientOf, serveModels } from './openai.test-kit.ts'
import type { StreamEvent } from './responses.test-kit.ts'
import { collect, failure, joinDeltas, work, worker } from './responses.test-kit.ts'

const background = { background: true, stream: true } as const
/** For tests that send hundreds of requests. */
const limits = { requestsPerSecond: 10_000 }

test('a response is resumed after each of its events, with exactly those that follow', async () => {
  // Slow enough that each delta is an entry of its own.
  const { client } = await serveModels(worker({ paceMs: 1 }).agent, { limits })
  const events = await collect(await client.responses.create({ ...work, ...background }))
  const { response } = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent
  expect(events.length).toBeGreaterThan(40)
  expect(response.output).toHaveLength(5)
  for (const [index, { sequence_number }] of events.entries()) {
    const rest = await client.responses.retrieve(response.id, {
      stream: true,
      starting_after: sequence_number,
    })
    expect(joinDeltas([...events.slice(0, index + 1), ...(await collect(rest))])).toEqual(joinDeltas(events))
  }
  const again = await collect(await client.responses.retrieve(response.id, { stream: true }))
  expect(joinDeltas(again)).toEqual(joinDeltas(events))
})

test('a response that continues another one is resumed in the same way', async () => {
  const { client } = await serveModels(worker().agent, { limits })
  const first = await client.responses.create(work)
  const events = await collect(
    await client.responses.create({
      ...work,
      ...background,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: 'call_c', output: 'three' }],
    }),
  )
  const { response } = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent
  for (const [index, { sequence_number }] of events.entries()) {
    const rest = await client.responses.retrieve(response.id, {
      stream: true,
      starting_after: sequence_number,
    })
    expect(joinDeltas([...events.slice(0, index + 1), ...(await collect(rest))])).toEqual(joinDeltas(events))
  }
})

test('a response in the background continues without a client', async () => {
  const { client } = await serveModels(storyteller())
  const created = await client.responses.create({ model: 'storyteller', input: 'Tell me.', background: true })
  expect(created.background).toBe(true)
  await expect.poll(() => client.responses.retrieve(created.id)).toMatchObject({ status: 'completed' })
  expect((await client.responses.retrieve(created.id)).output_text).toBe(story)
})

test('neither a background stream nor a resumed one stops the run when it is closed', async () => {
  const { client, threadOf, followers } = await serveModels(muser(), { openai: { graceMs: 0 } })
  const { data, response } = await client.responses
    .create({ model: 'muser', input: 'Muse.', ...background })
    .withResponse()
  const thread = threadOf(response.headers.get('x-thread-id') as string)
  let id = ''
  for await (const event of data) {
    if (event.type === 'response.created') id = event.response.id
    if (event.type === 'response.output_text.delta') break
  }
  for await (const event of await client.responses.retrieve(id, { stream: true }))
    if (event.type === 'response.output_text.delta') break
  await until(() => followers() === 0)
  expect((await thread.info()).status).toBe('running')
  expect((await client.responses.cancel(id)).status).toBe('cancelled')
})

test('a run is not stopped after a cut if the client resumes it in time', async () => {
  // The story takes longer than the grace period after a cut.
  const agent = storyteller(story, { paceMs: 120 })
  const { client, port } = await serveModels(agent, { openai: { graceMs: 1000 } })
  await using proxy = await cuttingProxy({ port })
  const before: StreamEvent[] = []
  const cut = async () => {
    const stream = await clientOf(`${proxy.url}/v1`).responses.create({
      model: 'storyteller',
      input: 'Tell me.',
      stream: true,
    })
    for await (const event of stream) {
      before.push(event)
      if (event.type === 'response.output_text.delta') proxy.cut()
    }
  }
  await expect(cut()).rejects.toThrow()
  const [created] = before
  if (created?.type !== 'response.created') throw new Error(`the first event is ${created?.type}`)
  const starting_after = before.at(-1)?.sequence_number ?? 0
  const rest = await collect(
    await client.responses.retrieve(created.response.id, { stream: true, starting_after }),
  )
  expect(rest.at(-1)).toMatchObject({ type: 'response.completed' })
  expect(Object.values(joinDeltas([...before, ...rest]).deltas)).toEqual([story])
})

test('a stream that was cut at any byte is completed from its last event', async () => {
  const { client, port } = await serveModels(worker({ paceMs: 1 }).agent, { limits })
  const events = await collect(await client.responses.create({ ...work, ...background }))
  const { response } = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent
  const bytes = Buffer.byteLength(events.map((event) => JSON.stringify(event)).join(''))
  for (let cut = 300; cut < bytes; cut += 397) {
    await using proxy = await cuttingProxy({ port, bytes: () => cut, slice: 61 })
    const cutting = clientOf(`${proxy.url}/v1`)
    const before: StreamEvent[] = []
    await cutting.responses
      .retrieve(response.id, { stream: true })
      .then(async (stream) => {
        for await (const event of stream) before.push(event)
      })
      .catch(() => {})
    const starting_after = before.at(-1)?.sequence_number
    const rest = await client.responses.retrieve(response.id, {
      stream: true,
      ...(starting_after !== undefined && { starting_after }),
    })
    expect(joinDeltas([...before, ...(await collect(rest))])).toEqual(joinDeltas(events))
  }
})

test('a request of Codex that is sent again after a cut runs the tools of the server once', async () => {
  const { agent, ran } = worker({ paceMs: 1 })
  const { baseURL, port, client } = await serveModels(agent)
  const body = JSON.stringify({
    model: 'worker',
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'session-1',
    instructions: 'You are a coding agent.',
    tools: [...work.tools, { type: 'web_search' }, { type: 'namespace', name: 'mcp', tools: [] }],
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Sandbox: none.' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Work.' }] },
    ],
  })
  const headers = { 'content-type': 'application/json', 'session-id': 'session-1', 'thread-id': 'thread-1' }
  const post = (url: string) => fetch(`${url}/responses`, { method: 'POST', headers, body })
  await using proxy = await cuttingProxy({ port, bytes: () => 6000 })
  const cut = await post(`${proxy.url}/v1`)
  await expect(collect(sseFrames(cut.body))).rejects.toThrow()
  const again = await collect(sseFrames((await post(baseURL)).body))
  const { response } = JSON.parse(again.at(-1)?.data ?? '') as OpenAI.Responses.ResponseCompletedEvent
  expect(again.at(-1)?.event).toBe('response.completed')
  expect(response.output.at(-1)).toMatchObject({ type: 'function_call', call_id: 'call_c' })
  expect(ran.toSorted()).toEqual(['look', 'weigh'])
  expect(response.id).toMatch(/_u$/)
  expect(await failure(client.responses.retrieve(response.id))).toMatchObject({ status: 404 })
})

test('heartbeats are events, which the SDK ignores', async () => {
  const { client, baseURL } = await serveModels(storyteller(story, { paceMs: 20 }), { heartbeatMs: 5 })
  const ask = { model: 'storyteller', input: 'Tell me.' }
  const response = await fetch(`${baseURL}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...ask, stream: true }),
  })
  const frames = await collect(sseFrames(response.body))
  expect(frames.filter(({ event }) => event === 'keepalive').map(({ data }) => data)).toContain(
    '{"type":"keepalive","sequence_number":0}',
  )
  expect((await client.responses.stream(ask).finalResponse()).output_text).toBe(story)
})
