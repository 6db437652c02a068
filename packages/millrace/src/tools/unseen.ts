/** What a terminal or a page hides, turns around or shows as a plain space. */
const unseen = /[\p{C}\p{DI}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u
const unseenOrEmoji = new RegExp(`(\\p{RGI_Emoji})|${unseen.source}`, 'gv')

/** Replaces each character that cannot be seen. Emoji keep the joiners and selectors they are made of. */
export function replaceUnseen(text: string, replace: (character: string) => string): string {
  // Compiling the expression with the emoji takes V8 some 20 ms, and most texts never need it.
  return unseen.test(text) ? text.replace(unseenOrEmoji, (found, emoji) => emoji ?? replace(found)) : text
}

/** Writes them out, for people who are to decide on the text: `\u{202e}`, `\n`. */
export function spellUnseen(text: string): string {
  return replaceUnseen(text, (character) => {
    const json = JSON.stringify(character).slice(1, -1)
    return json === character ? `\\u{${character.codePointAt(0)?.toString(16)}}` : json
  })
}
