import { isSpace, marks } from './characters.ts'

const code = (character: string) => character.charCodeAt(0)
const cjkOpening = new Set([...'「『《〈（【“'].map(code))
const cjkClosing = new Set([...'」』》〉）】”'].map(code))
const [straight, asterisk] = [code('"'), code('*')]

/** How far an open bracket keeps its sentence together. After that it is probably never closed. */
const maxSpan = 120

/** Tracks open quotation marks, brackets and Markdown delimiters. */
export interface Delimiters {
  /** Adds a delimiter. `before` is the preceding character. */
  add(sign: number, at: number, before: number): void
  /** Whether this character would close an open delimiter. */
  closes(sign: number): boolean
  /** Inside `« … »`, whose closing mark has space before it. */
  readonly inFrenchQuote: boolean
  /**
   * Whether `at` is inside brackets that keep a sentence together, in scripts whose stops need no
   * space, even after `closing`.
   */
  isInsideBrackets(at: number, closing: string): boolean
  /** The number of `*` runs in the line. */
  readonly stars: number
  endLine(): void
  endSentence(): void
  endParagraph(): void
}

export function delimiters(): Delimiters {
  const open = new Set<number>()
  let guillemets: 'none' | 'french' | 'german' = 'none'
  let low = false
  let depth = 0
  let openedAt = 0
  let quotedAt = 0
  let stars = 0

  function addGuillemet(isLeft: boolean, before: number) {
    if (isLeft) guillemets = guillemets === 'german' ? 'none' : 'french'
    else if (guillemets === 'french') guillemets = 'none'
    else guillemets = before < 0 || isSpace(before) ? 'german' : 'none'
  }

  function toggle(sign: number, at: number) {
    if (!open.delete(sign)) open.add(sign)
    if (sign === straight) quotedAt = at
  }

  const isWithinSpan = (from: number, at: number) => at - from < maxSpan

  return {
    add(sign, at, before) {
      const character = String.fromCharCode(sign)
      if (marks.has(sign) || sign === straight) {
        // A run of them counts as one.
        if (before === sign && sign !== straight) return
        if (sign === asterisk) stars += 1
        toggle(sign, at)
      } else if (character === '«' || character === '»') addGuillemet(character === '«', before)
      else if ('„‚'.includes(character)) low = true
      else if (low && '“‘”’'.includes(character)) low = false
      else if (cjkOpening.has(sign)) {
        if (depth++ === 0) openedAt = at
      } else if (cjkClosing.has(sign)) depth = Math.max(0, depth - 1)
    },
    closes(sign) {
      const character = String.fromCharCode(sign)
      if (character === '“' || character === '‘') return low
      if (character === '«') return guillemets === 'german'
      return open.has(sign)
    },
    get inFrenchQuote() {
      return guillemets === 'french'
    },
    isInsideBrackets(at, closing) {
      if (depth > 0 && !isWithinSpan(openedAt, at)) depth = 0
      const closed = [...closing].filter((one) => cjkClosing.has(code(one))).length
      return depth > closed || (open.has(straight) && isWithinSpan(quotedAt, at) && !closing.includes('"'))
    },
    get stars() {
      return stars
    },
    endLine() {
      stars = 0
    },
    endSentence() {
      open.clear()
    },
    endParagraph() {
      guillemets = 'none'
      low = false
      depth = 0
    },
  }
}
