import type { JsonObject, ModelRequest } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'

/** Takes the keys out of a text that will be seen: those that are known, and whatever looks like one. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secretRemover(secrets)(text)
}

/** The same for many texts. It takes as long as a text is long, whatever stands in it: conversations come from anybody. */
export function secretRemover(secrets: readonly string[]): (text: string) => string {
  const known = formsOf(secrets)
  return (text) => {
    let clean = text
    for (const form of known) clean = clean.replaceAll(form, '[key]')
    return clean
      .replace(/\b(Bearer|Basic)\s+(?=\S*[\d=])[\w.~+/=-]{8,}/gi, '$1 [key]')
      .replace(/\b(?:sk|pk|gsk|xai|rk|key|hf|nvapi)[-_][\w-]{12,}/g, (found) =>
        /\d/.test(found) ? '[key]' : found,
      )
      .replace(/\b(?:AIza[\w-]{20,}|AKIA[A-Z\d]{16})/g, '[key]')
      .replace(/\beyJ[\w-]{10,}(\.[\w-]{10,}\.[\w-]+)?/g, (found, rest) => (rest ? '[key]' : found))
  }
}

/** The longest first: a header holds the key, and what would be left of it tells where it was. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets
    .filter(isKey)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  return [...new Set(forms)].sort((one, other) => other.length - one.length)
}

/** `none`, `test` and `ollama` stand where a key is asked for and none is needed. Without such words the rest would be unreadable. */
function isKey(secret: string): boolean {
  return secret.length >= 8 || (secret.length >= 4 && /[^a-z]/i.test(secret))
}

/** A text that broke off may do so within a key. */
export function withoutBegunSecret(text: string, secrets: readonly string[]): string {
  for (const form of formsOf(secrets))
    for (let length = Math.min(form.length - 1, text.length); length >= 4; length--)
      if (text.endsWith(form.slice(0, length))) return `${text.slice(0, -length)}[key]`
  return text
}

const secretName = /auth|key|token|secret|cookie|credential|passw|passphrase|signature|^sig$|^code$/i

/** The values of headers that must not be seen: as they are, without the scheme, and each cookie's own. */
export function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => secretName.test(name))
    .flatMap(([name, value]) => [
      value,
      value.replace(/^\w+\s+/, ''),
      ...(/cookie/i.test(name) ? cookieValues(value) : []),
    ])
}

function cookieValues(header: string): string[] {
  // `1`, `true` and the like are no secrets, and taking them out would leave the rest unreadable.
  return header
    .split(';')
    .flatMap((pair) => pair.split('=').slice(1).join('=').trim())
    .filter((value) => value.length >= 8)
}

/** Keys also stand in addresses: `?key=…`, `?api-key=…`, `?sig=…`. */
export function secretsInUrl(url: string): string[] {
  return secretsIn(Object.fromEntries(new URL(url).searchParams))
}

/** Headers as they may be seen. What is left of a limit (`x-ratelimit-remaining-tokens`) is no secret. */
export function withoutSecretHeaders(
  headers: Iterable<readonly [string, string]>,
  clean: (text: string) => string,
): Record<string, string> {
  const seen = new Map<string, string>()
  for (const [name, value] of headers) {
    const shown = secretName.test(name) && !/ratelimit/i.test(name) ? '[key]' : clean(value)
    const before = seen.get(name)
    seen.set(name, before === undefined ? shown : `${before}, ${shown}`)
  }
  return Object.fromEntries(seen)
}

/** An address as it may be seen. */
export function withoutSecretQuery(url: string, clean: (text: string) => string): string {
  const [place = '', ...query] = url.split('?')
  const pairs = query.join('?').split('&')
  const shown = pairs.map((pair) => {
    const [name = ''] = new URLSearchParams(pair).keys()
    return secretName.test(name) ? `${pair.split('=')[0]}=[key]` : pair
  })
  return clean(query.length === 0 ? place : `${place}?${shown.join('&')}`)
}

/** Fields of a provider's own request that carry keys of others: `authorization_token` of an MCP server, the headers of a tool. */
const secretField =
  /(authorization|token|secret|password|passphrase|cookie|credentials?|(api|access|private)[-_]?key)$/i

/** Whether a field is one, by its name and that of what it stands in: `X-Functions-Key` among `headers` is. */
function isSecret(name: string, within: string): boolean {
  return secretField.test(name) || (/headers$/i.test(within) && secretName.test(name))
}

/** The secrets that stand in such fields, however deep. */
export function secretsWithin(extra: JsonObject): string[] {
  const found: string[] = []
  // What goes in circles is refused later, in better words.
  const seen = new Set<unknown>()
  const look = (fields: object, within: string) => {
    if (seen.has(fields)) return
    seen.add(fields)
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value === 'object' && value !== null) look(value, name)
      else if (typeof value === 'string' && value.length >= 8 && isSecret(name, within))
        found.push(value, value.replace(/^\w+\s+/, ''))
    }
  }
  look(extra, '')
  return found
}

/** A request as it may be seen where no wire is known. */
export function withoutRequestSecrets({ settings, ...request }: ModelRequest): ModelRequest {
  const { headers, extra, ...rest } = settings
  const shown = (value: unknown, name: string, within: string): unknown => {
    if (typeof value === 'string') return isSecret(name, within) ? '[key]' : value
    if (Array.isArray(value)) return value.map((one, index) => shown(one, String(index), name))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shown(one, key, name)]))
  }
  return {
    ...request,
    settings: {
      ...rest,
      ...(extra && { extra: shown(JSON.parse(JSON.stringify(extra)), '', '') as JsonObject }),
    },
  }
}

/**
 * Whether anything thrown can be shown as it is. An error of somebody's `fetch` may hold the whole request: only what can be looked
 * through (errors, plain objects, lists) and has no key in it is harmless.
 */
export function isHarmless(thrown: unknown, secrets: readonly string[]): boolean {
  const seen = new Set<unknown>()
  const harmless = (value: unknown): boolean => {
    if (typeof value === 'string') return withoutSecrets(value, secrets) === value
    if (typeof value !== 'object' || value === null || seen.has(value)) return typeof value !== 'function'
    seen.add(value)
    if (seen.size > 100 || !(value instanceof Error || Array.isArray(value) || isPlain(value))) return false
    return Reflect.ownKeys(value).every((key) => harmless(Reflect.get(value, key)))
  }
  try {
    return harmless(thrown)
  } catch {
    return false
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return isObject(value) && (prototype === Object.prototype || prototype === null)
}
