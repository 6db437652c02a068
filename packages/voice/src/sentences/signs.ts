import { isSpace, marks } from './characters.ts'

const code = (character: string) => character.charCodeAt(0)
const cjkOpening = new Set([...'「『《〈（【“'].map(code))
const cjkClosing = new Set([...'」』》〉）】”'].map(code))
const [straight, asterisk] = [code('"'), code('*')]

/** So far an open bracket keeps its sentence together. Behind that it was likely none, or is never closed. */
const reach = 120

/** Remembers which quotation marks, brackets and marks of Markdown are open. */
export interface Signs {
  /** Takes one sign, the character before it and the one behind it. */
  see(sign: number, at: number, before: number): void
  /** Whether this mark would close one. */
  closes(sign: number): boolean
  /** `« … »`: its end has space before it. */
  readonly french: boolean
  /** Inside brackets that are read as one, in scripts whose stops need no space, even behind what is closed there. */
  sheltered(at: number, closing: string): boolean
  /** How many runs of `*` the line has. */
  readonly stars: number
  endLine(): void
  endSentence(): void
  endParagraph(): void
}

export function signs(): Signs {
  const open = new Set<number>()
  let guillemets: 'none' | 'french' | 'german' = 'none'
  let low = false
  let depth = 0
  let openedAt = 0
  let quotedAt = 0
  let stars = 0

  function seeGuillemet(isLeft: boolean, before: number) {
    if (isLeft) guillemets = guillemets === 'german' ? 'none' : 'french'
    else if (guillemets === 'french') guillemets = 'none'
    else guillemets = before < 0 || isSpace(before) ? 'german' : 'none'
  }

  function toggle(sign: number, at: number) {
    if (!open.delete(sign)) open.add(sign)
    if (sign === straight) quotedAt = at
  }

  const near = (from: number, at: number) => at - from < reach

  return {
    see(sign, at, before) {
      const character = String.fromCharCode(sign)
      if (marks.has(sign) || sign === straight) {
        // A run of them is one.
        if (before === sign && sign !== straight) return
        if (sign === asterisk) stars += 1
        toggle(sign, at)
      } else if (character === '«' || character === '»') seeGuillemet(character === '«', before)
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
    get french() {
      return guillemets === 'french'
    },
    sheltered(at, closing) {
      if (depth > 0 && !near(openedAt, at)) depth = 0
      const closed = [...closing].filter((one) => cjkClosing.has(code(one))).length
      return depth > closed || (open.has(straight) && near(quotedAt, at) && !closing.includes('"'))
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
