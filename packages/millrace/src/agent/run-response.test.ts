import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Entry } from '../protocol/index.ts'
import { sseReader } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { callEcho, collect, echo, failOnUnhandledRejections } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

/** The events of a response, each with its name and data. */
async function eventsIn({ body }: Response): Promise<{ name: string; data: string }[]> {
  const events: { name: string; data: string }[] = []
  const reader = sseReader((data, name) => events.push({ name, data }))
  for await (const bytes of body ?? []) reader.push(bytes)
  return events
}

async function entriesIn(response: Response): Promise<Entry[]> {
  const events = await eventsIn(response)
  expect(events.pop()).toEqual({ name: 'end', data: '{}' })
  return events.map(({ data }) => JSON.parse(data))
}

test('toResponse() sends every event as an entry, numbered from 1, and then says that it has ended', async () => {
  const model = scriptedModel([callEcho('x'), 'Found x.'], { deltaChars: 100 })
  const run = agent({ model, tools: [echo] }).stream('find x')
  const response = run.toResponse()
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const entries = await entriesIn(response)
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1))
  expect(entries.map(({ event }) => event)).toEqual(JSON.parse(JSON.stringify(await collect(run))))
  expect(entries.at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'completed' })
})

test('an entry has the frame that a server sends', async () => {
  const run = agent({ model: scriptedModel(['Hi.']) }).stream('hi')
  const lines = (await run.toResponse().text()).split('\n')
  expect(lines[0]).toBe('id: 1')
  expect(lines[1]).toMatch(/^data: \{"seq":1,"at":\d+,"event":\{"type":"run-start",/)
  expect(lines.slice(-4)).toEqual(['event: end', 'data: {}', '', ''])
})

test('a reader that starts after the run has ended gets the text in one piece', async () => {
  const text = 'word '.repeat(5000)
  const run = agent({ model: scriptedModel(script.text(text), { deltaChars: 5 }) }).stream('hi')
  const response = run.toResponse()
  await run.result
  const entries = await entriesIn(response)
  expect(entries.filter(({ event }) => event.type === 'text')).toMatchObject([{ event: { text } }])
})

test('events that come together are sent in one piece', async () => {
  const busy = tool({
    name: 'busy',
    description: 'Reports progress',
    input: z.object({}),
    run(_, { progress }) {
      for (let step = 1; step <= 100; step++) progress(step)
    },
  })
  const model = scriptedModel([[{ call: 'busy', input: {} }], 'Done.'])
  const { body } = agent({ model, tools: [busy] })
    .stream('go')
    .toResponse()
  const pieces: string[] = []
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) pieces.push(piece)
  const reports = pieces.filter((piece) => piece.includes('tool-progress'))
  expect(reports.join('').match(/tool-progress/g)).toHaveLength(100)
  expect(reports.length).toBeLessThan(3)
})

test('headers are added to those of the response', async () => {
  const run = agent({ model: scriptedModel(['Hi.']) }).stream('hi')
  const { headers, body } = run.toResponse({ headers: { 'x-run': run.id, 'Cache-Control': 'no-cache' } })
  expect(headers.get('x-run')).toBe(run.id)
  expect(headers.get('cache-control')).toBe('no-cache')
  expect(headers.get('x-accel-buffering')).toBe('no')
  await body?.cancel()
})

test('a client that disconnects cancels the run', async () => {
  const run = agent({ model: scriptedModel(script.hanging()) }).stream('hi')
  const reader = run.toResponse().body?.getReader()
  await reader?.read()
  await reader?.cancel()
  const { outcome, error } = await run.result
  expect(outcome).toBe('canceled')
  expect(error?.message).toContain('the client has disconnected')
})

test("with onDisconnect: 'continue' the run continues without the client", async () => {
  const model = scriptedModel([callEcho('x'), 'Found x.'])
  const run = agent({ model, tools: [echo] }).stream('find x')
  await run.toResponse({ onDisconnect: 'continue' }).body?.cancel()
  expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Found x.' })
})

test('the response of a run that is canceled ends with its run-end', async () => {
  const controller = new AbortController()
  const run = agent({ model: scriptedModel(script.hanging()) }).stream('hi', { signal: controller.signal })
  const entries = entriesIn(run.toResponse())
  controller.abort()
  expect((await entries).at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'canceled' })
})

test('comments are sent while there is nothing else to send, and not to a client that does not read', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const run = agent({ model: scriptedModel(script.hanging()) }).stream('hi')
    const reader = run.toResponse({ heartbeatMs: 10 }).body?.getReader()
    const read = async () => new TextDecoder().decode((await reader?.read())?.value)
    while (!(await read()).includes('round-start'));
    vi.advanceTimersByTime(50)
    expect(await read()).toBe(': \n\n')
    let next = ''
    const reading = read().then((text) => {
      next = text
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(next).toBe('')
    vi.advanceTimersByTime(10)
    await reading
    expect(next).toBe(': \n\n')
    await reader?.cancel()
    await run.result
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('a client that disconnects between two reads leaves no timer behind', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const run = agent({ model: scriptedModel(['Hi.']) }).stream('hi')
    await run.result
    const reader = run.toResponse().body?.getReader()
    await reader?.read()
    expect(vi.getTimerCount()).toBe(1)
    await reader?.cancel()
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('a bad option is rejected with its name', () => {
  const run = agent({ model: scriptedModel(['Hi.']) }).stream('hi')
  expect(() => run.toResponse({ onDisconnect: 'wait' as 'stop' })).toThrow(
    "the response option 'onDisconnect' must be 'stop' or 'continue'",
  )
  expect(() => run.toResponse({ heartbeat: 5 } as object)).toThrow("did you mean 'heartbeatMs'?")
})
