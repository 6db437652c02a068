/**
 * Which ids of calls a wire accepts. A conversation that was begun elsewhere holds ids of another form: those are renamed, the
 * same way in every request, in the call and in its result alike.
 */
export interface IdRule {
  readonly fits: RegExp
  /** An id of its form, made from letters and digits. */
  readonly make: (token: string) => string
}

export function callIds({ fits, make }: IdRule): (callId: string) => string {
  const renamed = new Map<string, string>()
  const used = new Set<string>()
  return (callId) => {
    const known = renamed.get(callId)
    if (known !== undefined) return known
    let id = fits.test(callId) ? callId : make(tokenOf(callId))
    for (let salt = 1; used.has(id); salt++) id = make(tokenOf(`${callId}#${salt}`))
    renamed.set(callId, id)
    used.add(id)
    return id
  }
}

/** Nine letters and digits that depend on the whole id. (cyrb53 by bryc, public domain, in base 36.) */
function tokenOf(text: string): string {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  const hash = 4294967296 * (2097151 & b) + (a >>> 0)
  return hash.toString(36).padStart(9, '0').slice(-9)
}
