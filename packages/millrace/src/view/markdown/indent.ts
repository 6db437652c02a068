/** A position in the leading blanks of a line. */
export interface Place {
  readonly at: number
  /** Counted from the start of the line; a tab advances to the next multiple of four. */
  readonly column: number
  /** Remaining columns of a tab that was partly consumed. */
  readonly pad: number
}

export const lineStart: Place = { at: 0, column: 0, pad: 0 }

export interface Indent {
  /** In columns. */
  readonly width: number
  /** Where the blanks end. */
  readonly textAt: number
}

/** Wider than real indentation: blanks past this are text. */
const maxIndent = 400

const isBlank = (char: string | undefined) => char === ' ' || char === '\t'

/**
 * The indentation of the text after `place`. Undefined if the line ends in blanks, since more may
 * follow.
 */
export function indentAt(text: string, { at, column, pad }: Place): Indent | undefined {
  let width = pad
  let textAt = at
  for (; width < maxIndent && isBlank(text[textAt]); textAt++) {
    width += text[textAt] === '\t' ? 4 - ((column + width) % 4) : 1
  }
  return textAt === text.length && width < maxIndent ? undefined : { width, textAt }
}

/** The place `columns` further on, or the end of the blanks if that comes first. */
export function skipColumns(text: string, place: Place, columns: number): Place {
  let { at, column, pad } = place
  for (let left = columns; left > 0 && (pad > 0 || isBlank(text[at])); left--) {
    if (pad > 0) pad--
    else if (text[at++] === '\t') pad = 3 - (column % 4)
    column++
  }
  return { at, column, pad }
}
