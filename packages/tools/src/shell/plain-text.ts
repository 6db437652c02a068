// ECMA-48: control sequences (colors, cursor), strings for the terminal (titles, links), short
// escapes.
const control = '\\x1b\\[[0-?]*[ -/]*[@-~]'
const opened = '\\x1b[\\]PX^_][^\\x07\\x1b\\n]*'
const closing = '(?:\\x07|\\x1b\\\\)'
const short = '\\x1b[ -/]*[0-OQ-WYZ\\\\`a-~]'

const escapes = new RegExp(`${control}|${opened}${closing}?|${short}`, 'g')
const completed = new RegExp(`^(?:${control}|${opened}${closing}|${short})`)

// biome-ignore lint/suspicious/noControlCharactersInRegex: this matches control characters
const controls = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g

/** Output as plain text: no colors or other terminal escapes, lines end with `\n`. */
export function plainText(printed: string): string {
  return printed.replace(escapes, '').replace(/\r\n?/g, '\n').replace(controls, '')
}

/** Where to cut a chunk so that no escape sequence and no `\r\n` is split. */
export function wholeUpTo(printed: string): number {
  const lastEscape = printed.lastIndexOf('\x1b')
  // Anything longer is not an escape sequence, and must not delay the rest.
  const unfinished =
    lastEscape >= 0 && printed.length - lastEscape < 1_000 && !completed.test(printed.slice(lastEscape))
  if (unfinished) return lastEscape
  return printed.endsWith('\r') ? printed.length - 1 : printed.length
}
