/** All elements that can be drawn. */
export type Tag =
  | ('p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'quote' | 'ul' | 'ol' | 'li' | 'pre' | 'hr')
  | ('table' | 'head' | 'row' | 'th' | 'td')
  | ('strong' | 'em' | 's' | 'code' | 'a' | 'br' | 'task')

export type Align = 'left' | 'center' | 'right'

/** Details of an element, known when it is opened. */
export interface Detail {
  /** Of a link: an address that passed `safeAddress`. */
  readonly href?: string
  readonly title?: string
  /** Of a code block: its language and anything after it. */
  readonly info?: string
  /** Of a numbered list that does not start with 1. */
  readonly start?: number
  readonly align?: Align
  readonly done?: boolean
}

/**
 * Where the parser draws to. The parser only ever adds: what was drawn stays in place, so a text
 * selection survives and each piece costs no more than its own length.
 */
export interface Sink {
  open(tag: Tag, detail?: Detail): void
  text(text: string): void
  close(): void
  /**
   * Turns an emphasis that was never closed back into plain text, with `mark` in front of it.
   * Called after `maxHeld` characters or at the end of the block.
   */
  undo(mark: string): void
  /** The innermost open list is loose: there is an empty line between its items. */
  loosen(): void
  /** An empty line outside of code. */
  blank?(): void
}
