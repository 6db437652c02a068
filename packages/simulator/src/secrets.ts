import type { IncomingHttpHeaders } from 'node:http'

/**
 * Headers and parameters of such a name are never written down, whatever is in them: `helicone-auth`, `ocp-apim-subscription-key`,
 * `x-amz-security-token`, `anthropic-organization-id`. `x-ratelimit-remaining-tokens` and `www-authenticate` are no secrets.
 */
const secretName =
  /auth(?!enticate$)|key|token(?!s|[-_]count)|secret|cookie|passw|credential|signature|jwt|organi[sz]ation|^(openai|x-goog-user)-project$|^sig$|^code$/i

/** Shorter ones are no secrets, and would blot out half a text: `1`, `true`, `none`. */
const leastSecret = 6
const leastCookie = 8

/** What proves somebody in these headers, wherever it stands: none of it may show up anywhere else either. */
export function secretsIn(headers: IncomingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((text) => {
      const inside = parametersIn(text)
      return secretName.test(name) ? [...inside, ...valuesOf(name, text)] : inside
    }),
  )
}

function valuesOf(name: string, value: string): string[] {
  const pairs = name === 'cookie' ? value.split(';') : name === 'set-cookie' ? value.split(';', 1) : []
  const cookies = pairs.map((pair) => pair.slice(pair.indexOf('=') + 1).trim())
  // `Bearer` is left out, so that it still can be read.
  const known = /^[\w-]+ +(\S+)$/.exec(value)?.[1] ?? value
  return [
    ...[known, ...(/^basic /i.test(value) ? passwordsIn(known) : [])].filter(
      (one) => one.length >= leastSecret,
    ),
    ...cookies.flatMap((one) => [one, decoded(one)]).filter((one) => one.length >= leastCookie),
  ]
}

/** `Basic` is the name and the password in base64. */
function passwordsIn(base64: string): string[] {
  const text = Buffer.from(base64, 'base64').toString()
  return [text, text.slice(text.indexOf(':') + 1)]
}

const parameter = /([?&])([^=&?#\s]+)=([^&#\s]*)/g

/** The values of secret parameters in an address, or in a text that has one. */
export function parametersIn(text: string): string[] {
  return [...text.matchAll(parameter)]
    .filter(([, , name = '']) => secretName.test(decoded(name)))
    .flatMap(([, , , value = '']) => [decoded(value), decoded(value.replace(/["'<>,;].*/s, ''))])
    .filter((value) => value.length >= leastSecret)
}

/** The text with its secret parameters taken out. */
export function withoutParameters(text: string): string {
  return text.replace(parameter, (whole, sign, name) =>
    secretName.test(decoded(name)) ? `${sign}${name}=[removed]` : whole,
  )
}

export const isSecretName = (name: string) => secretName.test(name)

/** As it was before it was put in an address; as it is, if it never was. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
