/** The end of a sentence. */
export interface Cut {
  readonly end: number
  /** How it is to be read: as text, as what it is in code or in a table, or not at all. */
  readonly form: 'text' | 'line' | 'row' | 'mention' | 'silent'
  /** It begins where a line does, so that the marks of one may stand before it. */
  readonly ownLine: boolean
  readonly language: string | undefined
}

/** Gives out what comes before a place as one sentence. */
export type CutAt = (end: number, form?: Cut['form']) => Generator<Cut, void, undefined>
