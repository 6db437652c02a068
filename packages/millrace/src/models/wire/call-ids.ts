/**
 * The tool call ids that an API accepts. A conversation started with another provider has ids in
 * another format: these are renamed, the same way in every request, in the call and in its result.
 */
export interface IdFormat {
  readonly pattern: RegExp
  /** Makes an id in this format from letters and digits. */
  readonly create: (token: string) => string
}

export function callIds({ pattern, create }: IdFormat): (callId: string) => string {
  const renamed = new Map<string, string>()
  const used = new Set<string>()
  return (callId) => {
    const known = renamed.get(callId)
    if (known !== undefined) return known
    let id = pattern.test(callId) ? callId : create(tokenOf(callId))
    for (let salt = 1; used.has(id); salt++) id = create(tokenOf(`${callId}#${salt}`))
    renamed.set(callId, id)
    used.add(id)
    return id
  }
}

/**
 * Nine letters and digits that depend on the whole id. (cyrb53 by bryc, public domain, in base 36.)
 */
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
