/** The page that a model or a redirect names. Throws a sentence for the model if it is not one that can be fetched. */
export function targetOf(text: string, base?: URL): URL {
  const url = URL.parse(text, base)
  if (!url)
    throw new Error(`${quoted(text)} is not a whole URL. Write it out, such as https://example.com/page`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Error(`${quoted(text)} is not a web page: only http:// and https:// can be fetched`)
  if (url.username || url.password)
    throw new Error(`${quoted(withoutSecret(url))} must not have a user name or a password in it`)
  if (!hostOf(url)) throw new Error(`${quoted(text)} has no host in it`)
  url.hash = ''
  return url
}

/** As rules name it: in lower case, without a port; `localhost.` is `localhost`. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/\.+$/, '')
}

/** What to look up or connect to: IPv6 without its brackets. */
export function addressOf(url: URL): string {
  return hostOf(url).replace(/^\[|\]$/g, '')
}

/** For a sentence: short, and on one line whatever is in it. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}…` : text)
}

function withoutSecret(url: URL): string {
  const bare = new URL(url)
  bare.username = ''
  bare.password = ''
  return bare.href
}
