import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { getRequestListener } from '@hono/node-server'
import { expect, onTestFinished, test } from 'vitest'
import { script, scriptedModel } from '../testing/index.ts'
import { agent } from './agent.ts'

/** A route handler on a real server. */
async function listen(handle: () => Response): Promise<string> {
  const server = createServer(getRequestListener(handle)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a client that hangs up cancels the run, without a signal', async () => {
  const run = agent({ model: scriptedModel(script.hanging('Once ')) }).stream('hi')
  const url = await listen(() => run.toUIMessageResponse())
  const controller = new AbortController()
  const { body } = await fetch(url, { signal: controller.signal })
  for await (const bytes of body ?? []) if (new TextDecoder().decode(bytes).includes('Once ')) break
  controller.abort()
  expect((await run.result).outcome).toBe('canceled')
})

test('a client that does not read delays nothing, and then gets everything', async () => {
  const words = 'word '.repeat(400_000)
  const run = agent({ model: scriptedModel(script.text(words), { deltaChars: 1000 }) }).stream('hi')
  const url = await listen(() => run.toUIMessageResponse())
  const asked = request(url).end()
  const [response] = await once(asked, 'response')
  expect((await run.result).outcome).toBe('completed')
  const lines = (await text(response)).split('\n').filter((line) => line.startsWith('data: {'))
  const chunks = lines.map((line) => JSON.parse(line.slice(6)))
  expect(chunks.flatMap(({ delta }) => delta ?? []).join('')).toBe(words)
})
