import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Wire } from '../contract.ts'
import { bodyStore } from './bodies.ts'
import { deliver } from './deliver.ts'
import { idOf } from './ids.ts'
import { readRequest } from './request.ts'

const wires: Record<string, Wire> = {
  'chat/completions': 'chat',
  responses: 'responses',
  messages: 'messages',
}

/**
 * Plays `/<scenario>/v1/<wire's path>`. Which round it is follows from the request alone; nothing is kept but a count of
 * the requests, which `GET /requests` tells. `GET` of a path renders its answers, so that nobody waits for that later.
 */
function listener(): RequestListener {
  const { scenario, body, prepare } = bodyStore()
  let requests = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? ''
    if (url === '/requests') {
      response.end(String(requests))
      return
    }
    const [, name = '', path = ''] = /^\/([^/]+)\/v1\/([^?]+)/.exec(url) ?? []
    const wire = wires[path]
    const found = scenario(name)
    if (request.method === 'GET' && wire && found) {
      prepare(name, wire)
      response.end('prepared')
      return
    }
    const sent = await text(request)
    if (!wire || !found) return refuse(response, 404, `there is no ${url} here`)
    requests++
    const { results, ...options } = readRequest(wire, sent, found.callsPerRound)
    const round = found.callsPerRound > 0 ? results / found.callsPerRound : 0
    if (!Number.isInteger(round) || round >= found.rounds)
      return refuse(response, 400, `${results} tool results belong to no round of ${name}`)
    response.writeHead(200, headers(wire, requests))
    await deliver(response, body(name, wire, round, options))
  }

  return (request, response) => {
    answer(request, response).catch((error: Error) => refuse(response, 400, error.message))
  }
}

function headers(wire: Wire, request: number): Record<string, string> {
  const id = idOf('req_', 32, request)
  const common = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': wire === 'messages' ? 'no-cache' : 'no-cache, no-transform',
    server: 'cloudflare',
    'cf-ray': '99a0b1c2d3e4f506-AMS',
  }
  return wire === 'messages'
    ? { ...common, 'request-id': id, 'anthropic-organization-id': 'org-bench' }
    : {
        ...common,
        'x-request-id': id,
        'openai-version': '2020-10-01',
        'openai-organization': 'org-bench',
        'openai-processing-ms': '120',
      }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify({
      type: 'error',
      error: { type: 'invalid_request_error', message, param: null, code: null },
    }),
  )
}

/** Listens on this machine only; resolves with the address. */
export function serve(port: number): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener())
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1', backlog: 2048 }, () => {
      const address = server.address()
      resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`)
    })
  })
}
