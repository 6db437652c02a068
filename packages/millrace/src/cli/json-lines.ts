/** The version of what `--json` writes. A reader refuses a larger one, and passes over fields it does not know. */
const version = 1

// JSON leaves these as they are, and a terminal takes some of them for orders; others make text run backwards.
const unsafe = /[\x7f-\x9f\u2028\u2029]|\p{Bidi_Control}/gu

/** One object on a line of its own: the same value, in characters that are safe anywhere. */
export function jsonLine(value: object): string {
  return `${safeJson({ v: version, ...value })}\n`
}

export function safeJson(value: unknown, space?: number): string {
  return JSON.stringify(value, undefined, space).replace(
    unsafe,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
