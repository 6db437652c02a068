/** The version of the `--json` format. Readers reject a newer version and ignore unknown fields. */
const version = 1

// JSON does not escape these. Terminals interpret some as control codes; others reverse the text.
const unsafe = /[\x7f-\x9f\u2028\u2029]|\p{Bidi_Control}/gu

/** One object per line, with everything escaped that is unsafe in a terminal. */
export function jsonLine(value: object): string {
  return `${safeJson({ v: version, ...value })}\n`
}

export function safeJson(value: unknown, space?: number): string {
  return JSON.stringify(value, undefined, space).replace(
    unsafe,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
