import type { IncomingHttpHeaders } from 'node:http'

/**
 * Headers and parameters with these names are never recorded: `helicone-auth`,
 * `ocp-apim-subscription-key`, `x-amz-security-token`, `anthropic-organization-id`.
 * `x-ratelimit-remaining-tokens` and `www-authenticate` are not secrets.
 */
const secretName =
  /auth(?!enticate$)|key|token(?!s|[-_]count)|secret|cookie|passw|credential|signature|jwt|organi[sz]ation|^(openai|x-goog-user)-project$|^sig$|^code$/i

/**
 * Shorter values, such as `1`, `true` or `none`, are not secrets, and redacting them would ruin the
 * text.
 */
const minSecretLength = 6
const minCookieLength = 8

/** The credentials in these headers. They must not appear anywhere else either. */
export function secretsIn(headers: IncomingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((text) => {
      const inside = parametersIn(text)
      return secretName.test(name) ? [...inside, ...secretValues(name, text)] : inside
    }),
  )
}

function secretValues(name: string, value: string): string[] {
  const pairs = name === 'cookie' ? value.split(';') : name === 'set-cookie' ? value.split(';', 1) : []
  const cookies = pairs.map((pair) => pair.slice(pair.indexOf('=') + 1).trim())
  // Without the scheme, so that `Bearer` stays readable.
  const credential = /^[\w-]+ +(\S+)$/.exec(value)?.[1] ?? value
  return [
    ...[credential, ...(/^basic /i.test(value) ? passwordsIn(credential) : [])].filter(
      (one) => one.length >= minSecretLength,
    ),
    ...cookies.flatMap((one) => [one, decodeParameter(one)]).filter((one) => one.length >= minCookieLength),
  ]
}

/** `Basic` is the user name and password in base64. */
function passwordsIn(base64: string): string[] {
  const text = Buffer.from(base64, 'base64').toString()
  return [text, text.slice(text.indexOf(':') + 1)]
}

const parameter = /([?&])([^=&?#\s]+)=([^&#\s]*)/g

/** The values of secret parameters in a URL, or in a text that contains one. */
export function parametersIn(text: string): string[] {
  return [...text.matchAll(parameter)]
    .filter(([, , name = '']) => secretName.test(decodeParameter(name)))
    .flatMap(([, , , value = '']) => [
      decodeParameter(value),
      decodeParameter(value.replace(/["'<>,;].*/s, '')),
    ])
    .filter((value) => value.length >= minSecretLength)
}

/** Removes the values of secret parameters from a text. */
export function withoutParameters(text: string): string {
  return text.replace(parameter, (whole, sign, name) =>
    secretName.test(decodeParameter(name)) ? `${sign}${name}=[removed]` : whole,
  )
}

export const isSecretName = (name: string) => secretName.test(name)

/** Decodes a URL parameter. Returns the text unchanged if it is not encoded. */
export function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
