// Columns of a terminal, rather too many than too few: where terminals disagree (emoji of several parts, characters of
// unclear width) the larger number is taken, so that a line never runs over the edge.

// East Asian Wide and Fullwidth (UAX #11), in whole blocks.
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1F000}-\u{1F1E5}\u{1F200}-\u{1FAFF}\u{20000}-\u{3FFFD}]|(?![\u{1F1E6}-\u{1F1FF}])\p{Emoji_Presentation}/u
// Marks that stand over or under another character, joiners, variation selectors. The soft hyphen is seen in terminals.
const none = /(?!\u00AD)[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u
const ascii = /^[ -~]*$/
// What our own colours are made of. Nothing else of that kind is in a line.
const colours = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g')
/** Asks for the character before it as an emoji, which is two wide. */
export const emojiSelector = '\uFE0F'

/** The width of one code point by itself. */
export function charWidth(char: string): 0 | 1 | 2 {
  if (char < '\u0300' && char >= ' ') return 1
  if (none.test(char)) return 0
  return wide.test(char) ? 2 : 1
}

/** The width of a line; colours in it take no room. */
export function widthOf(line: string): number {
  if (ascii.test(line)) return line.length
  let width = 0
  let last = 0
  for (const char of line.replace(colours, '')) {
    const own = charWidth(char)
    width += char === emojiSelector && last === 1 ? 1 : own
    if (own > 0) last = own
  }
  return width
}

/** Cuts the end off a text without colours that is too wide, and shows that it did. */
export function clip(text: string, width: number): string {
  // What is much too long is not measured to its end.
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
