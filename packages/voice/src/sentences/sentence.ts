/** A piece of text that can be spoken on its own. */
export interface Sentence {
  /**
   * The original text, with surrounding space and markup. All sources, joined, are the whole text.
   */
  readonly source: string
  /** Where `source` starts in the text. */
  readonly start: number
  /** What is read aloud, or ''. */
  readonly speech: string
  /** For each character of `speech`, and for its end, its position in `source`. Never decreases. */
  readonly origins: readonly number[]
}

export interface SentenceOptions {
  /** BCP 47, such as `en` or `pt-BR`. Default: guessed from the text. */
  readonly language?: string | undefined
  /** Shorter sentences are joined with the next. Default: 0, never. */
  readonly minChars?: number | undefined
  /** The same for the first sentence, so that speech can start early. Default: `minChars`. */
  readonly firstMinChars?: number | undefined
  /** Longer sentences are split at a natural pause. Default: 400. */
  readonly maxChars?: number | undefined
  /** Code blocks: `skip` them (the default), `mention` them with one short line, or `read` them. */
  readonly code?: 'skip' | 'mention' | 'read' | undefined
  /** Tables: `skip` them (the default), or `read` them row by row. */
  readonly tables?: 'skip' | 'read' | undefined
  /** Markdown and HTML markup: `skip` it (the default), or `read` it literally. */
  readonly markdown?: 'skip' | 'read' | undefined
  /**
   * Links: `skip` (the default) reads the link text, or the host of a bare URL; `read` also reads
   * whole URLs.
   */
  readonly links?: 'skip' | 'read' | undefined
  readonly emoji?: 'skip' | 'read' | undefined
}

/**
 * Takes text in chunks and returns sentences as soon as they are certain. The result does not
 * depend on the chunking.
 */
export interface SentenceSplitter {
  push(text: string): Sentence[]
  /** Returns the rest. The next text starts a new sentence. */
  flush(): Sentence[]
}
