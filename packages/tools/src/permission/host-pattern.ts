/**
 * A host as URLs normalize it: lower case, international names in ASCII, one spelling per address.
 * Undefined if it is not a host.
 */
export function canonicalHost(host: string): string | undefined {
  if (/[\s/\\?#@*]/.test(host) || (host.includes(':') && !/^\[.*\]$/.test(host))) return undefined
  return URL.parse(`http://${host}/`)?.hostname.replace(/\.$/, '') || undefined
}

/** Throws the rest of a sentence if the pattern is invalid. Hosts to match must be canonical. */
export function hostPattern(pattern: string): (host: string) => boolean {
  if (pattern === '*') return () => true
  const below = pattern.startsWith('*.')
  const name = canonicalHost(below ? pattern.slice(2) : pattern)
  if (name === undefined) throw new Error(`has no valid host: ${advice(pattern)}`)
  if (!below) return (host) => host === name
  if (/^\[|(^|\.)\d+$/.test(name))
    throw new Error('has a * in an IP address: * works only at the start of a host name, as in *.example.com')
  return (host) => host.endsWith(`.${name}`)
}

function advice(pattern: string): string {
  if (pattern.includes('*')) return '* works only at the start of a host name, as in *.example.com'
  return "write only the host, without scheme, port or path, such as 'docs.example.com'"
}
