import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { answer } from '../harness/answer.ts'
import { listen } from '../server/serve.ts'
import { counted } from './otlp-count.ts'

// Receives OTLP/HTTP exports, in its own process. The first part of a path names the sender.

export interface Received {
  readonly spans: number
  readonly metrics: readonly string[]
}

interface Sent {
  spans: number
  readonly metrics: Set<string>
}

const all = new Map<string, Sent>()

function sentBy(name: string): Sent {
  const known = all.get(name) ?? { spans: 0, metrics: new Set<string>() }
  all.set(name, known)
  return known
}

const server = createServer(async (request, response) => {
  const [, name = '', ...path] = (request.url ?? '').split('/')
  const type = request.headers['content-type'] ?? ''
  const { count, names } = counted(await buffer(request), type)
  const sent = sentBy(name)
  if (path.join('/') === 'v1/traces') sent.spans += count
  else if (path.join('/') === 'v1/metrics') for (const metric of names) sent.metrics.add(metric)
  // An empty message is a success.
  response.writeHead(200, { 'content-type': type }).end(type.includes('json') ? '{}' : '')
})

const asked = {
  open: () => listen(server),
  received(name: string): Received {
    const { spans, metrics } = sentBy(name)
    return { spans, metrics: [...metrics] }
  },
}
export type ReceiverAnswers = typeof asked
answer(asked)
