/** Tracks the braces of JSON that arrives in pieces. Pieces are scanned lazily, and only once. */
export interface Braces {
  push(piece: string): void
  /**
   * The text so far starts with `{`, and every brace and bracket is closed. It may still be invalid
   * JSON.
   */
  closed(): boolean
}

export function braces(): Braces {
  let unread: string[] = []
  let started = false
  let depth = 0
  let quoted = false
  let escaped = false

  function read(char: string) {
    if (escaped) escaped = false
    else if (quoted) {
      if (char === '\\') escaped = true
      else if (char === '"') quoted = false
    } else if (char === '"') quoted = true
    else if (char === '{' || char === '[') {
      started ||= char === '{'
      depth++
    } else if (char === '}' || char === ']') depth--
  }

  return {
    push(piece) {
      unread.push(piece)
    },
    closed() {
      for (const piece of unread) for (const char of piece) read(char)
      unread = []
      return started && depth === 0 && !quoted
    },
  }
}
