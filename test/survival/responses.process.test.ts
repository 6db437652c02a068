import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { providerSimulator } from '@millrace/simulator'
import OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { expect, onTestFinished, test } from 'vitest'
import { readActions } from './actions.ts'
import { fixedPort, serverProgram, startServer } from './server-process.ts'

test('a response is resumed at the exact event after its server was killed, and no tool runs twice', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const slowly = (text: string) => text.split(/(?<= )/).flatMap((text) => [{ text }, { pause: 40 }])
  const words = 'It takes its time to say what there is to say about that. '.repeat(3)
  await using sim = await providerSimulator(({ body }) =>
    JSON.stringify(body).includes('"role":"tool"')
      ? slowly(words)
      : [...slowly('Let me charge it first. '), { call: 'charge', input: { op: 'pay', ms: 0 } }],
  )
  const program = await serverProgram()
  const port = await fixedPort()
  const actions = join(folder, 'actions')
  const config = {
    port,
    file: join(folder, 'threads.db'),
    actions,
    provider: sim.url,
    leaseMs: 800,
    recoverMs: 100,
  }
  let server = startServer(program, config)
  onTestFinished(() => server.kill())
  await server.ready
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'none', maxRetries: 0 })
  const events: ResponseStreamEvent[] = []
  const hasResult = () => events.some(({ type }) => type === 'response.mcp_call.completed')
  const hasEnded = () => events.some(({ type }) => type === 'response.completed')

  /** Reads a stream until something has happened, or until it breaks. */
  async function read(stream: AsyncIterable<ResponseStreamEvent>, isEnough: () => boolean) {
    try {
      for await (const event of stream) {
        events.push(event)
        if (isEnough()) return
      }
    } catch {
      // The server was killed.
    }
  }

  await read(
    await client.responses.create({ model: 'chat', input: 'Charge it.', stream: true, background: true }),
    () => events.length > 6,
  )
  const { response } = events[0] as { response: { id: string } }
  const kill = async () => {
    await server.kill()
    server = startServer(program, config)
    await server.ready
  }
  const resume = async (isEnough: () => boolean) => {
    const starting_after = events.at(-1)?.sequence_number ?? 0
    await read(await client.responses.retrieve(response.id, { stream: true, starting_after }), isEnough)
  }
  await kill()
  await resume(() => hasResult() && events.at(-1)?.type === 'response.output_text.delta')
  await kill()
  while (!hasEnded()) await resume(hasEnded)

  const numbers = events.map(({ sequence_number }) => sequence_number)
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
  const final = await client.responses.retrieve(response.id)
  expect(final.status).toBe('completed')
  expect(final.output_text).toBe(`Let me charge it first. ${words}`)
  expect(events.at(-1)).toMatchObject({ response: JSON.parse(JSON.stringify({ output: final.output })) })
  expect(readActions(actions).filter(({ part }) => part === 'begin')).toHaveLength(1)
  // A client that reads the whole stream now gets the same events, with fewer and longer deltas.
  const again: ResponseStreamEvent[] = []
  for await (const event of await client.responses.retrieve(response.id, { stream: true })) again.push(event)
  expect(again.at(-1)).toEqual(events.at(-1))
  expect(numbers).toEqual(expect.arrayContaining(again.map(({ sequence_number }) => sequence_number)))
  expect(textIn(again)).toBe(textIn(events))
})

/** All text, including what was retracted. */
function textIn(events: readonly ResponseStreamEvent[]): string {
  return events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
}
