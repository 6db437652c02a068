/** Follows the braces of JSON that comes in pieces. Nothing is looked at before somebody asks, and nothing twice. */
export interface Braces {
  push(piece: string): void
  /** What came so far begins with `{`, and all that was opened is closed. Whether it is valid is another question. */
  readonly closed: boolean
}

export function braces(): Braces {
  let unread: string[] = []
  let begun = false
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
      begun ||= char === '{'
      depth++
    } else if (char === '}' || char === ']') depth--
  }

  return {
    push(piece) {
      unread.push(piece)
    },
    get closed() {
      for (const piece of unread) for (const char of piece) read(char)
      unread = []
      return begun && depth === 0 && !quoted
    },
  }
}
