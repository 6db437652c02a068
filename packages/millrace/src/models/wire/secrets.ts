import type { JsonObject, ModelRequest } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'

/** Removes keys from a text: known ones, and anything that looks like a key. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secretRemover(secrets)(text)
}

/** The same for many texts. Runs in linear time for any text: conversations are untrusted input. */
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

/** Longest first, so that a header that contains the key is replaced as a whole. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets
    .filter(isKey)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  return [...new Set(forms)].sort((one, other) => other.length - one.length)
}

/**
 * Not `none`, `test` or `ollama`, which are used where no key is needed: removing these would
 * garble texts.
 */
function isKey(secret: string): boolean {
  return secret.length >= 8 || (secret.length >= 4 && /[^a-z]/i.test(secret))
}

/** Removes a key that is cut off at the end of a text. */
export function withoutPartialSecret(text: string, secrets: readonly string[]): string {
  for (const form of formsOf(secrets))
    for (let length = Math.min(form.length - 1, text.length); length >= 4; length--)
      if (text.endsWith(form.slice(0, length))) return `${text.slice(0, -length)}[key]`
  return text
}

const secretName = /auth|key|token|secret|cookie|credential|passw|passphrase|signature|^sig$|^code$/i

/** The secret header values: whole, without the scheme, and each cookie's value. */
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
  // `1`, `true` and the like are not secrets, and removing them would garble texts.
  return header
    .split(';')
    .flatMap((pair) => pair.split('=').slice(1).join('=').trim())
    .filter((value) => value.length >= 8)
}

/** Keys in a query: `?key=…`, `?api-key=…`, `?sig=…`. */
export function secretsInUrl(url: string): string[] {
  return secretsIn(Object.fromEntries(new URL(url).searchParams))
}

/** Headers with secrets replaced. `x-ratelimit-remaining-tokens` is not a secret. */
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

/** A URL with the secrets in its query replaced. */
export function withoutSecretQuery(url: string, clean: (text: string) => string): string {
  const [base = '', ...query] = url.split('?')
  const pairs = query.join('?').split('&')
  const shown = pairs.map((pair) => {
    const [name = ''] = new URLSearchParams(pair).keys()
    return secretName.test(name) ? `${pair.split('=')[0]}=[key]` : pair
  })
  return clean(query.length === 0 ? base : `${base}?${shown.join('&')}`)
}

/**
 * Request fields with keys for third parties: `authorization_token` of an MCP server, a tool's
 * headers.
 */
const secretField =
  /(authorization|token|secret|password|passphrase|cookie|credentials?|(api|access|private)[-_]?key)$/i

/** Whether a field is secret, by its name and its parent's: `X-Functions-Key` in `headers` is. */
function isSecret(name: string, within: string): boolean {
  return secretField.test(name) || (/headers$/i.test(within) && secretName.test(name))
}

/** The values of all secret fields, at any depth. */
export function secretsInFields(extra: JsonObject): string[] {
  const found: string[] = []
  // Circular data is rejected later, with a better message.
  const seen = new Set<unknown>()
  const visit = (fields: object, within: string) => {
    if (seen.has(fields)) return
    seen.add(fields)
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value === 'object' && value !== null) visit(value, name)
      else if (typeof value === 'string' && value.length >= 8 && isSecret(name, within))
        found.push(value, value.replace(/^\w+\s+/, ''))
    }
  }
  visit(extra, '')
  return found
}

/** A request without its headers and secrets, for models that do not report their HTTP requests. */
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
 * Whether a thrown value can be shown unchanged. The error of a custom `fetch` may hold the whole
 * request: only values that can be inspected (errors, plain objects, arrays) and contain no key are
 * safe.
 */
export function isSafeToShow(thrown: unknown, secrets: readonly string[]): boolean {
  const seen = new Set<unknown>()
  const isSafe = (value: unknown): boolean => {
    if (typeof value === 'string') return withoutSecrets(value, secrets) === value
    if (typeof value !== 'object' || value === null || seen.has(value)) return typeof value !== 'function'
    seen.add(value)
    if (seen.size > 100 || !(value instanceof Error || Array.isArray(value) || isPlain(value))) return false
    return Reflect.ownKeys(value).every((key) => isSafe(Reflect.get(value, key)))
  }
  try {
    return isSafe(thrown)
  } catch {
    return false
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return isObject(value) && (prototype === Object.prototype || prototype === null)
}
