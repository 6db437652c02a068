import type { Entry } from '../protocol/index.ts'
import { frameType } from './frame-type.ts'

/** How many entries' bytes are kept at least, and twice that at most. */
const generation = 2048

type Bytes = Uint8Array<ArrayBuffer>

const encoder = new TextEncoder()

/**
 * Does a thing once for each entry, however many listeners it goes to: followers of one thread get the same objects. What was
 * made is kept only while it is new, since a store in memory keeps its entries for ever.
 */
function oncePerEntry(make: (entry: Entry) => Bytes): (entry: Entry) => Bytes {
  let young = new WeakMap<Entry, Bytes>()
  let old = young
  let made = 0
  return (entry) => {
    const known = young.get(entry) ?? old.get(entry)
    if (known) return known
    if (++made % generation === 0) [old, young] = [young, new WeakMap()]
    const bytes = make(entry)
    young.set(entry, bytes)
    return bytes
  }
}

/** JSON has no line ends in it, so one `data:` line is enough. LF only: some readers split at nothing else. */
export const sseFrame = oncePerEntry((entry) =>
  encoder.encode(`id: ${entry.seq}\ndata: ${JSON.stringify(entry)}\n\n`),
)

/** The entry's own JSON with its `type` before it, as a frame of a socket. */
export const socketFrame = oncePerEntry((entry) =>
  textFrame(`{"type":${JSON.stringify(frameType(entry.event))},${JSON.stringify(entry).slice(1)}`),
)

/**
 * A text frame as it stands on the wire (RFC 6455 §5.2: final, not masked, since it comes from a server). To have each socket
 * frame the same text again costs as much as to send it.
 */
function textFrame(text: string): Bytes {
  const payload = encoder.encode(text)
  const { length } = payload
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const bytes = new Uint8Array(head + length)
  const view = new DataView(bytes.buffer)
  bytes[0] = 0x81
  if (head === 2) bytes[1] = length
  else if (head === 4) {
    bytes[1] = 126
    view.setUint16(2, length)
  } else {
    bytes[1] = 127
    view.setBigUint64(2, BigInt(length))
  }
  bytes.set(payload, head)
  return bytes
}
