import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Handles one request. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void

interface SeenRequest {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A successful response. */
export const sound = Int16Array.from({ length: 3000 }, (_, at) => (at * 37) % 30_000)
export const bytes = Buffer.from(sound.buffer)

export const whole: Answer = (response) => response.writeHead(200, { 'content-type': 'audio/pcm' }).end(bytes)

export function no(status: number, body: unknown, headers = {}): Answer {
  const type = { 'content-type': 'application/json' }
  return (response) => response.writeHead(status, { ...type, ...headers }).end(JSON.stringify(body))
}

/** A server with a scripted response for each request. */
export async function speechServer() {
  const answers: Answer[] = []
  const seen: SeenRequest[] = []
  let cutOff = 0
  const server = createServer(async (request, response) => {
    const parts = await Array.fromAsync(request)
    const { method, url, headers } = request
    seen.push({ method, url, headers, body: Buffer.concat(parts).toString() })
    response.on('close', () => {
      if (!response.writableFinished) cutOff++
    })
    const answer = answers.shift() ?? no(500, 'no more answers')
    answer(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    seen,
    /** How many requests were aborted before the end of the response. */
    cutOff: () => cutOff,
    async close() {
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    },
  }
}
