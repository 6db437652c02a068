import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { JsonObject, Model, ModelEvent, ModelRequest } from '../../protocol/index.ts'

interface Received {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: JsonObject
}

/**
 * A provider on a real socket: each request gets the next list of frames. Closed when the test
 * ends.
 */
export async function provider(...answers: readonly (readonly unknown[])[]) {
  const requests: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { url = '', headers } = request
    requests.push({ url, headers, body: JSON.parse(Buffer.concat(chunks).toString()) })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const frame of answers[requests.length - 1] ?? [])
      response.write(`data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** A `fetch` without a network: it records the request and responds with these frames. */
export function recordingFetch(frames: readonly unknown[] = []) {
  const requests: { url: string; headers: Headers; body: JsonObject }[] = []
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    requests.push({ url, headers: new Headers(init.headers), body: JSON.parse(String(init.body)) })
    const text = frames.map(
      (frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`,
    )
    return new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } })
  }
  return { requests, fetch }
}

const hi: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [], settings: {} }

/** All events of one request. */
export async function ask(model: Model, request: Partial<ModelRequest> = {}): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  const { signal } = new AbortController()
  for await (const event of model.stream({ ...hi, ...request }, { signal })) events.push(event)
  return events
}

/** What `make` throws. */
export function thrownBy(make: () => unknown): unknown {
  try {
    make()
    return undefined
  } catch (thrown) {
    return thrown
  }
}
