import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { metricsOf, tracesOf } from './otlp-protobuf.test-kit.ts'
import type { ReceivedPoint, ReceivedSpan } from './otlp-received.test-kit.ts'
import { readPoints, readSpans } from './otlp-received.test-kit.ts'

export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string
  /** What a process needs in its environment to send here soon and as JSON. */
  readonly env: Readonly<Record<string, string>>
  readonly requests: readonly { readonly path: string; readonly headers: IncomingMessage['headers'] }[]
  /** Every span so far, in the order in which they began. */
  spans(name?: string): readonly ReceivedSpan[]
  points(name?: string): readonly ReceivedPoint[]
  /** Answers with this status from now on and keeps nothing; 200 is as before. With 0 it never answers. */
  answerWith(status: number): void
  /** What the look gives as soon as it gives something; it is asked whenever something has come. Rejects after 45 s, with the tree. */
  until<Value>(look: () => Value | undefined | false): Promise<Value>
  close(): Promise<void>
}

/** A receiver of OTLP/HTTP on loopback: JSON or Protocol Buffers, as they are or gzipped. */
export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const series = new Map<string, ReceivedPoint>()
  const requests: OtlpReceiver['requests'][number][] = []
  const lookers = new Set<() => void>()
  let status = 200

  function take(path: string, type: string, body: Buffer): void {
    const json = type.startsWith('application/json') ? JSON.parse(body.toString('utf8')) : undefined
    if (path === '/v1/traces') spans.push(...readSpans(json ?? tracesOf(body)))
    else if (path === '/v1/metrics')
      for (const point of readPoints(json ?? metricsOf(body)))
        series.set(JSON.stringify([point.resource, point.scope, point.name, point.attributes]), point)
    else throw new Error(`nothing is received at ${path}`)
  }

  const server = createServer(async (request, response) => {
    const { url: path = '', headers } = request
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const whole = Buffer.concat(chunks)
    requests.push({ path, headers })
    const type = headers['content-type'] ?? ''
    try {
      if (status === 200) take(path, type, headers['content-encoding'] === 'gzip' ? gunzipSync(whole) : whole)
      // An empty message is all there is to say in either way of writing.
      if (status !== 0)
        response.writeHead(status, { 'content-type': type }).end(type.includes('json') ? '{}' : '')
    } catch (error) {
      response.writeHead(400).end(String(error))
    }
    for (const look of lookers) look()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const inOrder = () => spans.toSorted(byBeginning)
  return {
    url,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_METRIC_EXPORT_INTERVAL: '400',
      OTEL_METRIC_EXPORT_TIMEOUT: '400',
    },
    requests,
    spans: (name) => inOrder().filter((span) => name === undefined || span.name === name),
    points: (name) => [...series.values()].filter((point) => name === undefined || point.name === name),
    answerWith(next) {
      status = next
    },
    until: (look) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          lookers.delete(tryIt)
          reject(new Error(`it has not come; what has:\n${treeOf(inOrder())}`))
        }, 45_000)
        const tryIt = () => {
          const value = look()
          if (value === undefined || value === false) return
          clearTimeout(timer)
          lookers.delete(tryIt)
          resolve(value)
        }
        lookers.add(tryIt)
        tryIt()
      }),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

type TreeSpan = Pick<ReceivedSpan, 'name' | 'spanId' | 'parentSpanId' | 'startMs' | 'attributes'>

/** The SDK begins spans on whole milliseconds: those that share one are in the order of their names, so that the order is always the same. */
function byBeginning(one: TreeSpan, other: TreeSpan): number {
  return one.startMs - other.startMs || (one.name < other.name ? -1 : 1)
}

/** The spans as lines, those below another indented by two more, in the order in which they began. One without its parent is a root. */
export function treeOf<Span extends TreeSpan>(
  spans: readonly Span[],
  lineOf: (span: Span) => string = ({ name }) => name,
): string {
  const known = new Set(spans.map(({ spanId }) => spanId))
  const ordered = spans.toSorted(byBeginning)
  const under = (parent: string | undefined, indent: string): string[] =>
    ordered
      .filter(({ parentSpanId }) =>
        parent === undefined
          ? parentSpanId === undefined || !known.has(parentSpanId)
          : parentSpanId === parent,
      )
      .flatMap((span) => [`${indent}${lineOf(span)}`, ...under(span.spanId, `${indent}  `)])
  return under(undefined, '').join('\n')
}
