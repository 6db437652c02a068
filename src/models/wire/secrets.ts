import { isObject } from '../../protocol/index.ts'

/** Takes the keys out of a text that will be seen: those that are known, and whatever looks like one. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  // The longest first: a header holds the key, and what would be left of it tells where it was.
  const known = [...secrets].filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length)
  for (const secret of known)
    for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
      clean = clean.replaceAll(form, '[key]')
  return clean
    .replace(/\b(Bearer|Basic)\s+(?=\S*[\d=])[\w.~+/=-]{8,}/gi, '$1 [key]')
    .replace(/\b(?:sk|pk|gsk|xai|rk|key|hf|nvapi)[-_](?=[\w-]*\d)[\w-]{12,}/g, '[key]')
    .replace(/\b(?:AIza[\w-]{20,}|AKIA[A-Z\d]{16}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+)/g, '[key]')
}

const secretName = /auth|key|token|secret|cookie|password|signature|^sig$|^code$/i

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
