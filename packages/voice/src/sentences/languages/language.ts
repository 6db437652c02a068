/**
 * Word lists for finding the ends of sentences. Abbreviations are written without their last stop
 * and without spaces (`z. B.` is `z.B`). Those in lower case also match with a capital, not the
 * reverse.
 */
export interface Language {
  /** ISO 639. */
  readonly code: string
  /** These never end a sentence. */
  readonly titles: readonly string[]
  /** These do not end a sentence before a number. Otherwise they are ordinary words. */
  readonly counted: readonly string[]
  /** These end a sentence only if the next word clearly starts one. */
  readonly either: readonly string[]
  /** These end a sentence before any capital. */
  readonly enders: readonly string[]
  /** Titles that are ordinary words in other languages: used only if the language is certain. */
  readonly own?: readonly string[]
  /** Words that start sentences far more often than they are names. */
  readonly starters: readonly string[]
  /**
   * Months and other words that make a number with a stop before them an ordinal, as in `3. Mai`.
   */
  readonly ordinals?: readonly string[]
  /** Words that precede an ordinal. */
  readonly beforeOrdinals?: readonly string[]
  /** Frequent words that identify the language. */
  readonly common: readonly string[]
}

export const words = (list: string): readonly string[] => list.split(/\s+/).filter(Boolean)
