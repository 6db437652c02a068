/** What can be drawn, and nothing else. */
export type Tag =
  | ('p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'quote' | 'ul' | 'ol' | 'li' | 'pre' | 'hr')
  | ('table' | 'head' | 'row' | 'th' | 'td')
  | ('strong' | 'em' | 's' | 'code' | 'a' | 'br' | 'task')

export type Align = 'left' | 'center' | 'right'

/** What there is to know of an element when it is opened; it does not change afterwards. */
export interface Detail {
  /** Of a link: one that `safeAddress` let pass. */
  readonly href?: string
  readonly title?: string
  /** Of a code block: its language, and whatever else is written behind it. */
  readonly info?: string
  /** Of a numbered list that does not begin with 1. */
  readonly start?: number
  readonly align?: Align
  readonly done?: boolean
}

/**
 * What the parser draws with. It only ever adds: whatever was drawn stays where it is, so a selection in it survives and a
 * piece costs no more than its own length.
 */
export interface Sink {
  open(tag: Tag, detail?: Detail): void
  text(text: string): void
  close(): void
  /**
   * Closes an emphasis that never found its end, after `maxHeld` characters or at the end of its block. It looks like plain text
   * from here on, behind the mark as written.
   */
  undo(mark: string): void
  /** The items of the innermost open list stand apart: there was an empty line between them. */
  loosen(): void
  /** There is an empty line outside of code. */
  blank?(): void
}
