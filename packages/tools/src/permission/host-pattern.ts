/** As a URL has it: in lower case, international names in ASCII, addresses in their one form. Undefined if it is no host. */
export function canonicalHost(host: string): string | undefined {
  if (/[\s/\\?#@*]/.test(host) || (host.includes(':') && !/^\[.*\]$/.test(host))) return undefined
  return URL.parse(`http://${host}/`)?.hostname.replace(/\.$/, '') || undefined
}

/** Throws the rest of a sentence if it cannot be used. The host that is asked about must be canonical. */
export function hostPattern(pattern: string): (host: string) => boolean {
  if (pattern === '*') return () => true
  const below = pattern.startsWith('*.')
  const name = canonicalHost(below ? pattern.slice(2) : pattern)
  if (name === undefined) throw new Error(`has no host in it: ${advice(pattern)}`)
  if (!below) return (host) => host === name
  if (/^\[|(^|\.)\d+$/.test(name))
    throw new Error('has a * in an address: it may only stand for the front of a name, as in *.example.com')
  return (host) => host.endsWith(`.${name}`)
}

function advice(pattern: string): string {
  if (pattern.includes('*')) return 'a * may only stand for the front of a name, as in *.example.com'
  return "give the host alone, without scheme, port and path, such as 'docs.example.com'"
}
