import type { JsonObject } from 'millrace'
import type { Fault, FaultPoint, SseFraming } from './faults.ts'
import { writeFrames } from './sse.ts'
import type { Frame, TimelineItem, Wire } from './wire.ts'

/** A response before transport faults. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A stream, or a whole body after some pauses. */
  readonly content:
    | { readonly timeline: readonly TimelineItem[] }
    | { readonly body: string; readonly before?: readonly TimelineItem[] }
}

/** One operation on a socket. All but headers, write, wait and gate are final. */
export type Op =
  | { readonly op: 'headers' }
  /** `event` is the index of the event that the bytes belong to. */
  | { readonly op: 'write'; readonly bytes: Uint8Array; readonly event: number }
  | { readonly op: 'wait'; readonly ms: number }
  /** Waits for a generation; false ends the response. */
  | { readonly op: 'gate'; readonly gate: Promise<boolean> }
  | { readonly op: 'stall' }
  | { readonly op: 'reset' }
  | { readonly op: 'end' }
  | { readonly op: 'pings'; readonly bytes: Uint8Array; readonly everyMs: number }

export interface Delivery {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly ops: readonly Op[]
  /** The faults that had an effect. */
  readonly faults: readonly Fault[]
}

const bytesOf = (text: string) => new TextEncoder().encode(text)

/** How a reply is sent with these faults, applied one after the other. */
export function deliveryOf(reply: Reply, faults: readonly Fault[], wire: Wire): Delivery {
  const applied: Fault[] = []
  let { headers } = reply
  let framing: SseFraming = {}
  for (const fault of faults) {
    if (fault.kind === 'content-type') headers = { ...headers, 'content-type': fault.type }
    else if (fault.kind === 'sse' && 'timeline' in reply.content) framing = { ...framing, ...fault }
    else continue
    applied.push(fault)
  }
  let ops = opsOf(reply, framing)
  // Chunking comes last: until then each write is one event.
  const cuts = faults.filter(({ kind }) => kind === 'chunks')
  for (const fault of [...faults.filter(({ kind }) => kind !== 'chunks'), ...cuts]) {
    const changed = faultOnWire(ops, fault, wire)
    if (!changed) continue
    ops = changed
    applied.push(fault)
  }
  return { status: reply.status, headers, ops, faults: applied }
}

function opsOf({ content }: Reply, framing: SseFraming): readonly Op[] {
  if ('body' in content) {
    const waits = timelineOps(content.before ?? [], [])
    const stopped = waits.some(({ op }) => op === 'stall' || op === 'end')
    const half = bytesOf(content.body.slice(0, content.body.length / 2))
    // A whole body that ends early is cut in half.
    if (stopped && waits.at(-1)?.op === 'end')
      return [...waits.slice(0, -1), { op: 'headers' }, { op: 'write', bytes: half, event: 0 }, { op: 'end' }]
    if (stopped) return waits
    return [
      ...waits,
      { op: 'headers' },
      { op: 'write', bytes: bytesOf(content.body), event: 0 },
      { op: 'end' },
    ]
  }
  const frames = content.timeline.flatMap((item): Frame[] => ('frame' in item ? [item.frame] : []))
  const ops = timelineOps(content.timeline, writeFrames(frames, framing))
  return [
    { op: 'headers' },
    ...ops,
    ...(ops.at(-1)?.op === 'stall' || ops.at(-1)?.op === 'end' ? [] : [{ op: 'end' } as const]),
  ]
}

function timelineOps(timeline: readonly TimelineItem[], texts: readonly string[]): Op[] {
  let event = 0
  return timeline.map((item): Op => {
    if ('pauseMs' in item) return { op: 'wait', ms: item.pauseMs }
    if ('gate' in item) return { op: 'gate', gate: item.gate }
    if ('stop' in item) return item.stop === 'hang' ? { op: 'stall' } : { op: 'end' }
    return { op: 'write', bytes: bytesOf(texts[event] ?? ''), event: event++ }
  })
}

function faultOnWire(ops: readonly Op[], fault: Fault, wire: Wire): readonly Op[] | undefined {
  switch (fault.kind) {
    case 'reset':
    case 'stall':
    case 'end':
      return stopAt(ops, fault.at, { op: fault.kind })
    case 'pings': {
      const ping: JsonObject = { type: 'ping' }
      const text = wire === 'anthropic' ? writeFrames([{ event: 'ping', data: ping }]).join('') : ': ping\n\n'
      return stopAt(ops, fault.at, { op: 'pings', bytes: bytesOf(text), everyMs: fault.everyMs ?? 100 })
    }
    case 'chunks':
      return fault.bytes === 'all' ? inOnePiece(ops) : inPieces(ops, [fault.bytes].flat())
    default:
      return undefined
  }
}

/** All operations up to the point, then `last`. Undefined if there is no such point. */
function stopAt(ops: readonly Op[], at: FaultPoint, last: Op): readonly Op[] | undefined {
  const start = ops.findIndex(({ op }) => op === 'headers')
  if (start < 0) return undefined
  if (at === 'before-headers') return [...ops.slice(0, start), last]
  if (at === 'after-headers') return [...ops.slice(0, start + 1), last]
  const writes = ops.filter((op) => op.op === 'write')
  const first = at.event < 0 ? (writes.at(-1)?.event ?? 0) + 1 + at.event : at.event
  for (const write of writes) {
    if (write.event < first) continue
    const offset = offsetIn(write.bytes, at.byte ?? 0)
    if (offset !== undefined) {
      const head = { ...write, bytes: write.bytes.subarray(0, offset) }
      return [...ops.slice(0, ops.indexOf(write)), ...(offset > 0 ? [head] : []), last]
    }
    if (typeof at.byte === 'number' || at.byte === undefined) return undefined
  }
  return undefined
}

function offsetIn(bytes: Uint8Array, byte: number | 'utf8' | 'escape'): number | undefined {
  if (typeof byte === 'number') {
    const offset = byte < 0 ? bytes.length + byte : byte
    return offset < 0 || offset > bytes.length ? undefined : offset
  }
  // 0xC0 and above start a multi-byte character. A byte order mark does not count.
  const isBom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const found = bytes.findIndex((one, index) =>
    byte === 'escape' ? one === 0x5c : one >= 0xc0 && !(isBom && index === 0),
  )
  return found < 0 ? undefined : found + 1
}

function inOnePiece(ops: readonly Op[]): readonly Op[] {
  const writes = ops.filter((op) => op.op === 'write')
  const last = ops.findLastIndex(({ op }) => op === 'write')
  if (last < 0) return ops
  const before = ops.slice(0, last).filter(({ op }) => op !== 'write')
  return [...before, { op: 'write', bytes: concat(writes), event: 0 }, ...ops.slice(last + 1)]
}

function inPieces(ops: readonly Op[], sizes: readonly number[]): readonly Op[] {
  const cut: Op[] = []
  let run: Extract<Op, { op: 'write' }>[] = []
  let turn = 0
  const flush = () => {
    const bytes = concat(run)
    run = []
    for (let at = 0; at < bytes.length; ) {
      const size = sizes[turn++ % sizes.length] ?? bytes.length
      cut.push({ op: 'write', bytes: bytes.subarray(at, at + size), event: 0 })
      at += size
    }
  }
  for (const op of ops) {
    if (op.op === 'write') run.push(op)
    else {
      flush()
      cut.push(op)
    }
  }
  return cut
}

function concat(writes: readonly { readonly bytes: Uint8Array }[]): Uint8Array {
  const all = new Uint8Array(writes.reduce((sum, { bytes }) => sum + bytes.length, 0))
  let at = 0
  for (const { bytes } of writes) {
    all.set(bytes, at)
    at += bytes.length
  }
  return all
}
