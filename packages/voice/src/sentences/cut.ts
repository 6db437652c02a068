/** The end of a sentence. */
export interface Cut {
  readonly end: number
  /** How it is read: as text, as a line of code, as a table row, as a mention, or not at all. */
  readonly form: 'text' | 'line' | 'row' | 'mention' | 'silent'
  /** It is at the start of a line, so it may have line markup. */
  readonly startsLine: boolean
  readonly language: string | undefined
}

/** Yields the text before a position as one sentence. */
export type CutAt = (end: number, form?: Cut['form']) => Generator<Cut, void, undefined>
