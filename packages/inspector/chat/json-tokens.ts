type Kind = 'name' | 'string' | 'number' | undefined

const token = /("(?:\\.|[^"\\])*"?)(\s*:)?|-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b|\b(?:true|false|null)\b/g

/** Splits JSON text into parts to color. The text may be cut off at any place. */
export function jsonTokens(text: string): readonly (readonly [kind: Kind, text: string])[] {
  const parts: [Kind, string][] = []
  let end = 0
  for (const match of text.matchAll(token)) {
    const [all, quoted, colon] = match
    if (match.index > end) parts.push([undefined, text.slice(end, match.index)])
    if (quoted === undefined) parts.push(['number', all])
    else parts.push([colon === undefined ? 'string' : 'name', quoted])
    if (colon) parts.push([undefined, colon])
    end = match.index + all.length
  }
  if (end < text.length) parts.push([undefined, text.slice(end)])
  return parts
}
