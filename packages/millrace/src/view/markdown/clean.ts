// Control characters that a terminal would interpret. Direction embeddings, overrides and isolates
// (U+202A to U+202E, U+2066 to U+2069) are removed too: they can make text look different from what
// is copied. Right-to-left text does not need them, since its letters have an inherent direction;
// the marks U+200E, U+200F and U+061C are harmless and stay.
const invisible = /(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

// ECMA-48: control sequences; strings, used for titles and links; character set selection; and the
// few two-character sequences that programs really send. The length of a string is limited, or an
// unterminated one would swallow the answer.
const esc = '\u001b'
const bell = '\u0007'
const sequence = '\\[[0-?]{0,64}[ -/]{0,8}'
const string = `[\\]PX^_][^${bell}${esc}\\n]{0,256}`
const escapes = new RegExp(
  `${esc}(?:${sequence}[@-~]|${string}(?:${bell}|${esc}\\\\)|[()*+][0-9A-Za-z]|[78=>])`,
  'g',
)
/** A possible start of an escape sequence or line end at the end of the text. */
const unfinished = new RegExp(`${esc}(?:${sequence}|${string}${esc}?|[()*+])?$|\\r$`)

export const cleaned = (text: string): string => text.replace(escapes, '').replace(invisible, '')

/**
 * Removes control characters and escape sequences from text in pieces, and normalizes line ends to
 * `\n`.
 */
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
