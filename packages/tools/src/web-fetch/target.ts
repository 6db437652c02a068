/**
 * Parses a URL from a model or a redirect. Throws an explanation for the model if it cannot be
 * fetched.
 */
export function parseTarget(text: string, base?: URL): URL {
  const url = URL.parse(text, base)
  if (!url) throw new Error(`${quoted(text)} is not a complete URL. Use the form https://example.com/page`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Error(`${quoted(text)} is not a web page: only http:// and https:// can be fetched`)
  if (url.username || url.password)
    throw new Error(`${quoted(withoutSecret(url))} must not contain a user name or password`)
  if (!hostOf(url)) throw new Error(`${quoted(text)} has no host`)
  url.hash = ''
  return url
}

/** The host as in permission rules: lower case, without port; `localhost.` is `localhost`. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/\.+$/, '')
}

/** What to look up or connect to: IPv6 without its brackets. */
export function addressOf(url: URL): string {
  return hostOf(url).replace(/^\[|\]$/g, '')
}

/** For an error message: short and on one line. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}…` : text)
}

function withoutSecret(url: URL): string {
  const bare = new URL(url)
  bare.username = ''
  bare.password = ''
  return bare.href
}
