// Sticky patterns for Markdown and HTML. None of them backtracks over the same text twice.

const names =
  'a|abbr|b|big|blockquote|body|br|button|caption|center|cite|code|col|dd|del|details|div|dl|dt|em|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|mark|nav|ol|option|p|path|picture|pre|q|s|samp|script|section|select|small|source|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|tfoot|th|thead|title|tr|tt|u|ul|var|video|wbr'

/**
 * CommonMark 4 and 5: quotes, headings, bullets, task boxes. List numbers stay: they are read
 * aloud.
 */
export const lineMarks =
  /[ \t]*(?:>[ \t]?)*[ \t]*(?:#{1,6}(?=\s|$)|[-*+–—―](?=\s)|[•‣◦▪●○■⁃∙])?[ \t]*(?:\[[ xX]\](?=\s))?/y
export const rule = /[ \t]*(?:(?:[-*_][ \t]*){3,}|={2,}[ \t]*)(?=[\r\n]|$)/y
export const definition = /[ \t]*\[(?!\^)[^\]\n]{1,200}\]:[ \t]*\S+[^\n]*/y
export const headingEnd = /#+[ \t]*(?=[\r\n]|$)/y
export const escaping = /\\[!-/:-@[-`{-~]/y
export const backticks = /`+/y
export const comment = /<!--[\s\S]{0,200}?-->/y
export const autolink = /<((?:https?:\/\/|mailto:)[^\s<>]+|[^\s<>@]+@[^\s<>@]+)>/iy
export const tag = new RegExp(`</?(?:${names})(?:\\s[^<>]*|/)?>`, 'iy')
export const breakingTag = /^<\/?(?:br|p|li|div|td|th|tr|h\d|hr)\b/i
export const entity = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w{1,31});/iy
export const image = /!(?=\[[^[\]\n]{0,400}(?:\](?:\(|\[)|$))/y
export const link =
  /\[((?:[^[\]\\]|\\.|\[[^[\]]*\])*)\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^[\]\n]*\])/y
/** The rest of a link whose text was cut. */
export const target = /\]\([^\s()]+\)/y
export const footnote = /\[\^[^\]\s]{1,40}\]:?|【\d[^】]{0,40}†[^】]{0,60}】/y
export const citation = /\[\d{1,3}(?:[,–-] ?\d{1,3})*\]/y
export const address = /(?:https?:\/\/|www\.)[^\s<>"'`*（）「」。，、！？；：]+/iy
export const emoji =
  /(?:\p{Regional_Indicator}{1,2}|(?![©®™‼⁉↔↕])\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})*(?:\u200d\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})*)*|\p{Emoji_Modifier})/uy
/** Control characters and variation selectors. */
export const invisible = /\p{Cc}|\u00ad|\u200b|\u2060|\ufe0e|\ufe0f|\u20e3/uy

/** The match of a sticky pattern at a position. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
