// As in CommonMark 0.31, section 6.1: a span that contains backticks has longer runs around it.
const span = /(?<=^|[\s(])(`+)(?!`)(.*?[^`])\1(?=$|[\s?!.,:;)])/s

/** Text as a code span. */
export function codeSpan(text: string): string {
  const longest = Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  const space = /^`|`$/.test(text) ? ' ' : ''
  return `${fence}${space}${text}${space}${fence}`
}

/**
 * Splits text at its code spans: text at even positions, code at odd ones. If a backtick is left
 * over, for example because a command contains one, the text is not split: what a user approves must
 * not look different from what runs.
 */
export function splitCode(text: string): readonly string[] {
  const parts: string[] = []
  for (let rest = text; ; ) {
    const match = span.exec(rest)
    const before = rest.slice(0, match?.index)
    if (before.includes('`')) return [text]
    parts.push(before)
    if (!match) return parts
    const [all, fence = '', code = ''] = match
    // It would end earlier.
    if (new RegExp(`(?<!\`)${fence}(?!\`)`).test(code)) return [text]
    parts.push(code.replace(/^ (`.*|.*`) $/s, '$1'))
    rest = rest.slice(match.index + all.length)
  }
}
