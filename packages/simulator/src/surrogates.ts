/**
 * The error of Anthropic's parser for a lone surrogate. JSON may have a single escape such as
 * `\ud83d`, and `JSON.stringify` writes one if a text was cut within an emoji, but this parser
 * rejects it as invalid JSON.
 */
export function surrogateProblem(text: string): string | undefined {
  const escapes = /\\(?:u([0-9a-f]{4})|.)/gis
  for (let found = escapes.exec(text); found; found = escapes.exec(text)) {
    const unit = Number.parseInt(found[1] ?? '0', 16)
    if (unit < 0xd800 || unit > 0xdfff) continue
    if (unit >= 0xdc00) return at(text, found.index, 'invalid high surrogate in string')
    const next = /^\\u([0-9a-f]{4})/i.exec(text.slice(escapes.lastIndex, escapes.lastIndex + 6))
    if (!next) return at(text, escapes.lastIndex, 'no low surrogate in string')
    if (!/^d[c-f]/i.test(next[1] ?? '')) return at(text, escapes.lastIndex, 'invalid low surrogate in string')
    escapes.lastIndex += 6
  }
  return undefined
}

/** Positions count characters; lines and columns start at 1. */
function at(text: string, index: number, problem: string): string {
  const before = text.slice(0, index)
  const lines = before.split('\n')
  const column = [...(lines.at(-1) ?? '')].length + 1
  return `${problem}: line ${lines.length} column ${column} (char ${[...before].length})`
}
