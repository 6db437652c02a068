// Counts the items of an OTLP/HTTP export without parsing the rest: the receiver shares the machine
// with what is measured.

/** The number of spans or metrics of an export, and the names of the metrics. */
export interface Counted {
  readonly count: number
  readonly names: readonly string[]
}

export const counted = (body: Buffer, contentType: string): Counted =>
  contentType.startsWith('application/json') ? inJson(body) : inProtobuf(body)

/**
 * In opentelemetry-proto, resources are field 1, scopes field 2, their spans or metrics field 2, a
 * metric's name field 1.
 */
function inProtobuf(body: Buffer): Counted {
  const items = inField(body, 1)
    .flatMap((resource) => inField(resource, 2))
    .flatMap((scope) => inField(scope, 2))
  const names = items.flatMap((item) => inField(item, 1).map((name) => name.toString('utf8')))
  return { count: items.length, names }
}

interface Items {
  readonly spans?: readonly object[]
  readonly metrics?: readonly { readonly name: string }[]
}

interface Scopes {
  readonly scopeSpans?: readonly Items[]
  readonly scopeMetrics?: readonly Items[]
}

function inJson(body: Buffer): Counted {
  const { resourceSpans = [], resourceMetrics = [] }: Record<string, readonly Scopes[] | undefined> =
    JSON.parse(body.toString('utf8'))
  const scopes = [...resourceSpans, ...resourceMetrics].flatMap(({ scopeSpans = [], scopeMetrics = [] }) => [
    ...scopeSpans,
    ...scopeMetrics,
  ])
  const metrics = scopes.flatMap((scope) => scope.metrics ?? [])
  const spans = scopes.flatMap((scope) => scope.spans ?? [])
  return { count: spans.length + metrics.length, names: metrics.map(({ name }) => name) }
}

/** The values of this field in a message. */
function inField(message: Buffer, wanted: number): Buffer[] {
  const parts: Buffer[] = []
  let at = 0
  function varint(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = message.readUInt8(at++)
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    const [field, type] = [tag >>> 3, tag & 7]
    if (type === 0) varint()
    else {
      const length = type === 1 ? 8 : type === 5 ? 4 : varint()
      if (field === wanted) parts.push(message.subarray(at, at + length))
      at += length
    }
  }
  return parts
}
