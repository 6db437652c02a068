import type { Entry } from '../protocol/index.ts'

/** How many entries' bytes are kept at least, and twice that at most. */
const generation = 2048

type Bytes = Uint8Array<ArrayBuffer>

export const encoder = new TextEncoder()

/**
 * Does a thing once for each entry, however many clients it goes to: followers of one thread get the same objects. What was
 * made is kept only while it is new, since a store in memory keeps its entries for ever.
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
