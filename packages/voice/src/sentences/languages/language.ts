/**
 * What has to be known of a language to tell where its sentences end. Abbreviations stand without their last stop and without
 * the spaces in them (`z. B.` is `z.B`); one in small letters may be written with a capital too, not the other way round.
 */
export interface Language {
  /** ISO 639. */
  readonly code: string
  /** Something always follows: they end no sentence. */
  readonly titles: readonly string[]
  /** No end before a number, else words like any other. */
  readonly counted: readonly string[]
  /** An end only where the next word plainly begins a sentence. */
  readonly either: readonly string[]
  /** An end before every capital. */
  readonly enders: readonly string[]
  /** Titles that are ordinary words elsewhere: only if the language is certain. */
  readonly own?: readonly string[]
  /** Words that begin sentences far more often than they are names. */
  readonly starters: readonly string[]
  /** Months, and all else that makes an ordinal of a number and a stop before it. */
  readonly ordinals?: readonly string[]
  /** Words before such an ordinal. */
  readonly beforeOrdinals?: readonly string[]
  /** By these it is recognised. */
  readonly common: readonly string[]
}

export const words = (list: string): readonly string[] => list.split(/\s+/).filter(Boolean)
