/** Characters that a terminal or page hides, uses to reverse text, or shows as a plain space. */
const invisible = /[\p{C}\p{DI}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u
let invisibleOrEmoji: RegExp | undefined

/** Replaces each invisible character. Emoji keep their joiners and selectors. */
export function replaceInvisible(text: string, replace: (character: string) => string): string {
  if (!invisible.test(text)) return text
  // Only reading the emoji expression takes V8 about 20 ms, and most texts do not need it.
  invisibleOrEmoji ??= new RegExp(`(\\p{RGI_Emoji})|${invisible.source}`, 'gv')
  return text.replace(invisibleOrEmoji, (found, emoji) => emoji ?? replace(found))
}

/** Escapes invisible characters, for people who approve the text: `\u{202e}`, `\n`. */
export function escapeInvisible(text: string): string {
  return replaceInvisible(text, (character) => {
    const json = JSON.stringify(character).slice(1, -1)
    return json === character ? `\\u{${character.codePointAt(0)?.toString(16)}}` : json
  })
}
