import type { Entry } from '../protocol/index.ts'

/** The bytes of at least this many entries are cached, and of at most twice as many. */
const generation = 2048

type Bytes = Uint8Array<ArrayBuffer>

export const encoder = new TextEncoder()

/**
 * Encodes each entry once, however many clients it is sent to: followers of a thread get the same
 * entry objects. Only recent results are cached, since a store in memory keeps its entries forever.
 */
export function oncePerEntry(make: (entry: Entry) => Bytes): (entry: Entry) => Bytes {
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
