import type { Entry } from '../protocol/index.ts'

/** The bytes of at least this many entries are cached, and of at most twice as many. */
const generation = 2048

type Bytes = Uint8Array<ArrayBuffer>

export const encoder = new TextEncoder()

/** How entries are sent to all clients of a protocol. */
export interface SharedFrames {
  entry(entry: Entry): Bytes
  /** The frames of entries that arrive together, in one piece. */
  entries(entries: readonly Entry[]): Bytes
}

/**
 * Encodes what is sent once, however many clients get it: followers of a thread get the same entry
 * objects, and those that arrive together in the same array.
 */
export function sharedFrames(make: (entry: Entry) => Bytes): SharedFrames {
  // An array goes to all followers of a thread before the next one is delivered, so it is enough to
  // keep the latest.
  let delivered: readonly Entry[] | undefined
  let bytes: Bytes | undefined
  return {
    entry: oncePer(make),
    entries(entries) {
      if (bytes && entries === delivered) return bytes
      delivered = entries
      bytes = entries.length === 1 ? make(entries[0] as Entry) : forNode(concat(entries.map(make)))
      return bytes
    },
  }
}

/** Otherwise a socket of Node would wrap the bytes again for each client. */
export function forNode(bytes: Bytes): Bytes {
  const { Buffer } = globalThis
  return Buffer ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : bytes
}

/** A text in UTF-8. On Node a short one takes a part of a shared buffer, at a third of the cost. */
export const utf8: (text: string) => Bytes = globalThis.Buffer
  ? (text) => Buffer.from(text)
  : (text) => encoder.encode(text)

/** Only recent results are cached, since a store in memory keeps its entries forever. */
function oncePer<Key extends object>(make: (key: Key) => Bytes): (key: Key) => Bytes {
  let young = new WeakMap<Key, Bytes>()
  let old = young
  let made = 0
  return (key) => {
    const known = young.get(key) ?? old.get(key)
    if (known) return known
    if (++made % generation === 0) [old, young] = [young, new WeakMap()]
    const bytes = make(key)
    young.set(key, bytes)
    return bytes
  }
}

export function concat(pieces: readonly Uint8Array[]): Bytes {
  const joined = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
