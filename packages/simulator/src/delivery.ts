import type { JsonObject } from 'millrace'
import type { Fault, Place, SseDress } from './faults.ts'
import { writeFrames } from './sse.ts'
import type { Beat, Frame, Wire } from './wire.ts'

/** What is to be answered, before anything goes wrong on the way. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A stream, or an answer in one piece after some pauses. */
  readonly content:
    | { readonly beats: readonly Beat[] }
    | { readonly body: string; readonly before?: readonly Beat[] }
}

/** One thing a server does with a socket. Everything but headers, write, wait and gate is the last. */
export type Op =
  | { readonly op: 'headers' }
  /** `event` numbers what the bytes belong to. */
  | { readonly op: 'write'; readonly bytes: Uint8Array; readonly event: number }
  | { readonly op: 'wait'; readonly ms: number }
  /** Waits for a generation; false ends the answer. */
  | { readonly op: 'gate'; readonly gate: Promise<boolean> }
  | { readonly op: 'stall' }
  | { readonly op: 'reset' }
  | { readonly op: 'end' }
  | { readonly op: 'pings'; readonly bytes: Uint8Array; readonly everyMs: number }

export interface Delivery {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly ops: readonly Op[]
  /** The faults that came to pass. */
  readonly faults: readonly Fault[]
}

const bytesOf = (text: string) => new TextEncoder().encode(text)

/** How a reply goes over the socket under these faults, each in turn upon what those before it have left. */
export function deliveryOf(reply: Reply, faults: readonly Fault[], wire: Wire): Delivery {
  const applied: Fault[] = []
  let { headers } = reply
  let dress: SseDress = {}
  for (const fault of faults) {
    if (fault.kind === 'content-type') headers = { ...headers, 'content-type': fault.type }
    else if (fault.kind === 'sse' && 'beats' in reply.content) dress = { ...dress, ...fault }
    else continue
    applied.push(fault)
  }
  let ops = opsOf(reply, dress)
  // How the bytes are cut is decided last: until then a write is an event.
  const cuts = faults.filter(({ kind }) => kind === 'chunks')
  for (const fault of [...faults.filter(({ kind }) => kind !== 'chunks'), ...cuts]) {
    const changed = faultOnWire(ops, fault, wire)
    if (!changed) continue
    ops = changed
    applied.push(fault)
  }
  return { status: reply.status, headers, ops, faults: applied }
}

function opsOf({ content }: Reply, dress: SseDress): readonly Op[] {
  if ('body' in content) {
    const waits = beatOps(content.before ?? [], [])
    const stopped = waits.some(({ op }) => op === 'stall' || op === 'end')
    const half = bytesOf(content.body.slice(0, content.body.length / 2))
    // An answer in one piece that ends early is half an answer.
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
  const frames = content.beats.flatMap((beat): Frame[] => ('frame' in beat ? [beat.frame] : []))
  const ops = beatOps(content.beats, writeFrames(frames, dress))
  return [
    { op: 'headers' },
    ...ops,
    ...(ops.at(-1)?.op === 'stall' || ops.at(-1)?.op === 'end' ? [] : [{ op: 'end' } as const]),
  ]
}

function beatOps(beats: readonly Beat[], texts: readonly string[]): Op[] {
  let event = 0
  return beats.map((beat): Op => {
    if ('pauseMs' in beat) return { op: 'wait', ms: beat.pauseMs }
    if ('gate' in beat) return { op: 'gate', gate: beat.gate }
    if ('stop' in beat) return beat.stop === 'hang' ? { op: 'stall' } : { op: 'end' }
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

/** Everything up to the place, and then only this. Undefined if there is no such place. */
function stopAt(ops: readonly Op[], at: Place, last: Op): readonly Op[] | undefined {
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
  // 0xC0 and above begin a character of several bytes; a byte order mark is none that anybody reads.
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
  return [...before, { op: 'write', bytes: joined(writes), event: 0 }, ...ops.slice(last + 1)]
}

function inPieces(ops: readonly Op[], sizes: readonly number[]): readonly Op[] {
  const cut: Op[] = []
  let run: Extract<Op, { op: 'write' }>[] = []
  let turn = 0
  const flush = () => {
    const bytes = joined(run)
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

function joined(writes: readonly { readonly bytes: Uint8Array }[]): Uint8Array {
  const all = new Uint8Array(writes.reduce((sum, { bytes }) => sum + bytes.length, 0))
  let at = 0
  for (const { bytes } of writes) {
    all.set(bytes, at)
    at += bytes.length
  }
  return all
}
