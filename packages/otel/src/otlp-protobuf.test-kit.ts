import type { WireMetrics, WireTraces } from './otlp-received.test-kit.ts'

// Converts OTLP/HTTP in Protocol Buffers to its JSON form, so that tests need not distinguish the
// two. The fields are those of opentelemetry-proto 1.x that tests may need; others are skipped.

type Kind = 'text' | 'hex' | 'base64' | 'varint' | 'bool' | 'fixed64' | 'double' | Message
type Message = () => Readonly<Record<number, Field>>
/** The name in JSON, the kind, and whether the field is repeated. */
type Field = readonly [name: string, kind: Kind, repeated?: 'repeated']

const anyValue: Message = () => ({
  1: ['stringValue', 'text'],
  2: ['boolValue', 'bool'],
  3: ['intValue', 'varint'],
  4: ['doubleValue', 'double'],
  5: ['arrayValue', () => ({ 1: ['values', anyValue, 'repeated'] })],
  6: ['kvlistValue', () => ({ 1: ['values', keyValue, 'repeated'] })],
  7: ['bytesValue', 'base64'],
})
const keyValue: Message = () => ({ 1: ['key', 'text'], 2: ['value', anyValue] })
const resource: Message = () => ({ 1: ['attributes', keyValue, 'repeated'] })
const scope: Message = () => ({ 1: ['name', 'text'], 2: ['version', 'text'] })

const status: Message = () => ({ 2: ['message', 'text'], 3: ['code', 'varint'] })
const spanEvent: Message = () => ({
  1: ['timeUnixNano', 'fixed64'],
  2: ['name', 'text'],
  3: ['attributes', keyValue, 'repeated'],
})
const link: Message = () => ({
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'text'],
  4: ['attributes', keyValue, 'repeated'],
})
const span: Message = () => ({
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'text'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'varint'],
  7: ['startTimeUnixNano', 'fixed64'],
  8: ['endTimeUnixNano', 'fixed64'],
  9: ['attributes', keyValue, 'repeated'],
  11: ['events', spanEvent, 'repeated'],
  13: ['links', link, 'repeated'],
  15: ['status', status],
})

const numberPoint: Message = () => ({
  3: ['timeUnixNano', 'fixed64'],
  4: ['asDouble', 'double'],
  6: ['asInt', 'fixed64'],
  7: ['attributes', keyValue, 'repeated'],
})
const histogramPoint: Message = () => ({
  3: ['timeUnixNano', 'fixed64'],
  4: ['count', 'fixed64'],
  5: ['sum', 'double'],
  6: ['bucketCounts', 'fixed64', 'repeated'],
  7: ['explicitBounds', 'double', 'repeated'],
  9: ['attributes', keyValue, 'repeated'],
  11: ['min', 'double'],
  12: ['max', 'double'],
})
const points = (point: Message): Message => {
  return () => ({
    1: ['dataPoints', point, 'repeated'],
    2: ['aggregationTemporality', 'varint'],
    3: ['isMonotonic', 'bool'],
  })
}
const metric: Message = () => ({
  1: ['name', 'text'],
  2: ['description', 'text'],
  3: ['unit', 'text'],
  5: ['gauge', points(numberPoint)],
  7: ['sum', points(numberPoint)],
  9: ['histogram', points(histogramPoint)],
})

const exportOf = (all: string, scoped: string, items: string, item: Message): Message => {
  const scopes: Message = () => ({ 1: ['scope', scope], 2: [items, item, 'repeated'] })
  const resources: Message = () => ({ 1: ['resource', resource], 2: [scoped, scopes, 'repeated'] })
  return () => ({ 1: [all, resources, 'repeated'] })
}
const traceExport = exportOf('resourceSpans', 'scopeSpans', 'spans', span)
const metricsExport = exportOf('resourceMetrics', 'scopeMetrics', 'metrics', metric)

export const tracesOf = (bytes: Buffer): WireTraces => read(bytes, traceExport)
export const metricsOf = (bytes: Buffer): WireMetrics => read(bytes, metricsExport)

function read(bytes: Buffer, message: Message): Record<string, unknown> {
  const fields = message()
  const values: Record<string, unknown> = {}
  for (const [number, raw] of rawFields(bytes)) {
    const [name, kind, repeated] = fields[number] ?? []
    if (name === undefined || kind === undefined) continue
    if (!repeated) values[name] = valueIn(kind, raw)
    else values[name] = [...((values[name] as unknown[]) ?? []), ...valuesOf(kind, raw)]
  }
  return values
}

function valueIn(kind: Kind, raw: Buffer | bigint): unknown {
  if (typeof raw === 'bigint') return kind === 'bool' ? raw !== 0n : String(BigInt.asIntN(64, raw))
  if (typeof kind === 'function') return read(raw, kind)
  if (kind === 'double') return raw.readDoubleLE()
  if (kind === 'fixed64') return String(raw.readBigInt64LE())
  return raw.toString(kind === 'hex' ? 'hex' : kind === 'base64' ? 'base64' : 'utf8')
}

/** Repeated numbers are packed in one field. */
function valuesOf(kind: Kind, raw: Buffer | bigint): unknown[] {
  if ((kind !== 'fixed64' && kind !== 'double') || typeof raw === 'bigint') return [valueIn(kind, raw)]
  return Array.from({ length: raw.length / 8 }, (_, at) => valueIn(kind, raw.subarray(at * 8, at * 8 + 8)))
}

function* rawFields(bytes: Buffer): Generator<readonly [number, Buffer | bigint]> {
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number) => {
    if (at + length > bytes.length) throw new RangeError('unexpected end of message')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const number = tag >> 3
    const wireType = tag & 7
    if (wireType === 0) yield [number, varint()]
    else if (wireType === 1) yield [number, take(8)]
    else if (wireType === 2) yield [number, take(Number(varint()))]
    else if (wireType === 5) yield [number, take(4)]
    else throw new RangeError(`unknown wire type: ${wireType}`)
  }
}
