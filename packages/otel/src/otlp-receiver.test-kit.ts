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
  /** The environment of a process that should export here, promptly and as JSON. */
  readonly env: Readonly<Record<string, string>>
  readonly requests: readonly { readonly path: string; readonly headers: IncomingMessage['headers'] }[]
  /** All spans so far, in the order in which they started. */
  spans(name?: string): readonly ReceivedSpan[]
  points(name?: string): readonly ReceivedPoint[]
  /**
   * Responds with this status from now on and records nothing, except with 200. With 0 it never
   * responds.
   */
  answerWith(status: number): void
  /**
   * Resolves with the first truthy result of `check`, called after each request. Rejects after 45
   * s, with the span tree.
   */
  until<Value>(check: () => Value | undefined | false): Promise<Value>
  close(): Promise<void>
}

/** A local receiver of OTLP/HTTP: JSON or Protocol Buffers, plain or gzipped. */
export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const series = new Map<string, ReceivedPoint>()
  const requests: OtlpReceiver['requests'][number][] = []
  const checks = new Set<() => void>()
  let status = 200

  function receive(path: string, type: string, body: Buffer): void {
    const json = type.startsWith('application/json') ? JSON.parse(body.toString('utf8')) : undefined
    if (path === '/v1/traces') spans.push(...readSpans(json ?? tracesOf(body)))
    else if (path === '/v1/metrics')
      for (const point of readPoints(json ?? metricsOf(body)))
        series.set(JSON.stringify([point.resource, point.scope, point.name, point.attributes]), point)
    else throw new Error(`unknown path ${path}`)
  }

  const server = createServer(async (request, response) => {
    const { url: path = '', headers } = request
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const whole = Buffer.concat(chunks)
    requests.push({ path, headers })
    const type = headers['content-type'] ?? ''
    try {
      if (status === 200)
        receive(path, type, headers['content-encoding'] === 'gzip' ? gunzipSync(whole) : whole)
      // Both formats have an empty response message.
      if (status !== 0)
        response.writeHead(status, { 'content-type': type }).end(type.includes('json') ? '{}' : '')
    } catch (error) {
      response.writeHead(400).end(String(error))
    }
    for (const check of checks) check()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const inOrder = () => spans.toSorted(byStart)
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
    until: (check) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          checks.delete(tryCheck)
          reject(new Error(`timed out; received so far:\n${treeOf(inOrder())}`))
        }, 45_000)
        const tryCheck = () => {
          const value = check()
          if (value === undefined || value === false) return
          clearTimeout(timer)
          checks.delete(tryCheck)
          resolve(value)
        }
        checks.add(tryCheck)
        tryCheck()
      }),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

type TreeSpan = Pick<ReceivedSpan, 'name' | 'spanId' | 'parentSpanId' | 'startMs' | 'attributes'>

/**
 * SDK start times are whole milliseconds: spans that share one are sorted by name, for a stable
 * order.
 */
function byStart(one: TreeSpan, other: TreeSpan): number {
  return one.startMs - other.startMs || (one.name < other.name ? -1 : 1)
}

/** The spans as lines, indented below their parent, in the order in which they started. */
export function treeOf<Span extends TreeSpan>(
  spans: readonly Span[],
  lineOf: (span: Span) => string = ({ name }) => name,
): string {
  const known = new Set(spans.map(({ spanId }) => spanId))
  const ordered = spans.toSorted(byStart)
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
