// Widths in terminal columns. Where terminals disagree (emoji sequences, ambiguous characters), the
// larger width is used, so that a line never exceeds the edge.

// East Asian Wide and Fullwidth (UAX #11), in whole blocks.
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1F000}-\u{1F1E5}\u{1F200}-\u{1FAFF}\u{20000}-\u{3FFFD}]|(?![\u{1F1E6}-\u{1F1FF}])\p{Emoji_Presentation}/u
// Combining marks, joiners, variation selectors. Terminals show the soft hyphen.
const zeroWidth = /(?!\u00AD)[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u
const ascii = /^[ -~]*$/
// Our own color sequences. Lines contain no other escape sequences.
const ansiColors = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g')
/** Shows the character before it as an emoji, which is two columns wide. */
export const emojiSelector = '\uFE0F'

/** The width of one code point. */
export function charWidth(char: string): 0 | 1 | 2 {
  if (char < '\u0300' && char >= ' ') return 1
  if (zeroWidth.test(char)) return 0
  return wide.test(char) ? 2 : 1
}

/** The width of a line, not counting color sequences. */
export function widthOf(line: string): number {
  if (ascii.test(line)) return line.length
  let width = 0
  let last = 0
  for (const char of line.replace(ansiColors, '')) {
    const own = charWidth(char)
    width += char === emojiSelector && last === 1 ? 1 : own
    if (own > 0) last = own
  }
  return width
}

/** Cuts a text that is too wide, and marks the cut with `…`. The text must have no colors. */
export function clip(text: string, width: number): string {
  // A very long text is not measured to its end.
  const start = text.slice(0, width * 16)
  if (start.length === text.length && widthOf(start) <= width) return text
  let kept = ''
  let used = 0
  for (const char of start) {
    used += char === emojiSelector ? 1 : charWidth(char)
    if (used > width - 1) break
    kept += char
  }
  return `${kept}…`
}
