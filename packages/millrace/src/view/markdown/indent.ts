/** A place in a line, between blanks. */
export interface Place {
  readonly at: number
  /** Counted from the beginning of the line: a tab reaches to the next multiple of four. */
  readonly column: number
  /** Columns of a tab that was cut in two which are still to come. */
  readonly pad: number
}

export const lineStart: Place = { at: 0, column: 0, pad: 0 }

export interface Indent {
  /** In columns. */
  readonly width: number
  /** Where the blanks end. */
  readonly textAt: number
}

/** Wider than any text is indented: past this the blanks are text. */
const maxIndent = 400

const isBlank = (char: string | undefined) => char === ' ' || char === '\t'

/** How far the text behind `place` is indented. Undefined if it ends in blanks: more may come. */
export function indentAt(text: string, { at, column, pad }: Place): Indent | undefined {
  let width = pad
  let textAt = at
  for (; width < maxIndent && isBlank(text[textAt]); textAt++) {
    width += text[textAt] === '\t' ? 4 - ((column + width) % 4) : 1
  }
  return textAt === text.length && width < maxIndent ? undefined : { width, textAt }
}

/** The place that is `columns` further, or where the blanks end if that is before. */
export function skipColumns(text: string, place: Place, columns: number): Place {
  let { at, column, pad } = place
  for (let left = columns; left > 0 && (pad > 0 || isBlank(text[at])); left--) {
    if (pad > 0) pad--
    else if (text[at++] === '\t') pad = 3 - (column % 4)
    column++
  }
  return { at, column, pad }
}
