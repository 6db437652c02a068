// What a terminal would obey and a reader must not see. Embeddings, overrides and isolates of direction (U+202A to U+202E,
// U+2066 to U+2069) go too: with them text can be made to look like another than is copied. Right-to-left text needs none of them,
// its letters have a direction of their own; the marks U+200E, U+200F and U+061C turn nothing around and stay.
const unseen = /(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

// ECMA-48: a control sequence; a string of the kinds that titles and links are sent in; the choice of a character set; and the
// few of two characters that programs really send. The string may not be longer than this, or an open one would swallow the answer.
const esc = '\u001b'
const bell = '\u0007'
const sequence = '\\[[0-?]{0,64}[ -/]{0,8}'
const string = `[\\]PX^_][^${bell}${esc}\\n]{0,256}`
const escapes = new RegExp(
  `${esc}(?:${sequence}[@-~]|${string}(?:${bell}|${esc}\\\\)|[()*+][0-9A-Za-z]|[78=>])`,
  'g',
)
/** What may be the beginning of an escape sequence or of a line end, where the text stops. */
const unfinished = new RegExp(`${esc}(?:${sequence}|${string}${esc}?|[()*+])?$|\\r$`)

export const cleaned = (text: string): string => text.replace(escapes, '').replace(unseen, '')

/** Takes control characters and escape sequences out of text that comes in pieces, and makes every line end in `\n`. */
export function cleaner(): { write(piece: string): string; end(): string } {
  let held = ''
  return {
    write(piece) {
      const text = (held + piece).replace(/\r\n|\r(?!$)/g, '\n')
      const cut = unfinished.exec(text)?.index ?? text.length
      held = text.slice(cut)
      return cleaned(text.slice(0, cut))
    },
    end: () => cleaned(held),
  }
}
