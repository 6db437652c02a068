// ECMA-48: control sequences (colours, moving about), strings for the terminal itself (titles, links), and the short ones.
const control = '\\x1b\\[[0-?]*[ -/]*[@-~]'
const opened = '\\x1b[\\]PX^_][^\\x07\\x1b\\n]*'
const closing = '(?:\\x07|\\x1b\\\\)'
const short = '\\x1b[ -/]*[0-OQ-WYZ\\\\`a-~]'

const escapes = new RegExp(`${control}|${opened}${closing}?|${short}`, 'g')
const completed = new RegExp(`^(?:${control}|${opened}${closing}|${short})`)

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is for
const controls = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g

/** What a program printed as text that a model can read: no colours, nothing for a terminal, lines end in `\n`. */
export function plainText(printed: string): string {
  return printed.replace(escapes, '').replace(/\r\n?/g, '\n').replace(controls, '')
}

/** Where a piece of output must be cut so that neither an escape sequence nor `\r\n` falls apart. */
export function wholeUpTo(printed: string): number {
  const begun = printed.lastIndexOf('\x1b')
  // Longer than this is no sequence, and must not hold up the rest.
  const unfinished = begun >= 0 && printed.length - begun < 1_000 && !completed.test(printed.slice(begun))
  if (unfinished) return begun
  return printed.endsWith('\r') ? printed.length - 1 : printed.length
}
