/** A piece of text that can be spoken by itself. */
export interface Sentence {
  /** As it was written, with the space and the marks around it: the sources of all sentences, joined, are the text. */
  readonly source: string
  /** Where `source` begins in the text. */
  readonly start: number
  /** What is read aloud; '' if nothing is. */
  readonly speech: string
  /** For each character of `speech`, and for its end, where it comes from in `source`. Never decreases. */
  readonly origins: readonly number[]
}

export interface SentenceOptions {
  /** BCP 47: `en`, `pt-BR`. Found out by the letters where that is possible if absent. */
  readonly language?: string | undefined
  /** A sentence shorter than this is spoken together with the next; 0 if absent: none is. */
  readonly minChars?: number | undefined
  /** The same for the first one, so that speaking begins early; `minChars` if absent. */
  readonly firstMinChars?: number | undefined
  /** A longer one is cut where a speaker would breathe; 400 if absent. */
  readonly maxChars?: number | undefined
  /** What to do with code blocks: `skip` says nothing, `mention` one short line, `read` reads them; `skip` if absent. */
  readonly code?: 'skip' | 'mention' | 'read' | undefined
  /** The same for tables: `read` reads row after row, `skip` nothing; `skip` if absent. */
  readonly tables?: 'skip' | 'read' | undefined
  /** The same for the marks of Markdown and HTML: `read` reads them as they are written. */
  readonly markdown?: 'skip' | 'read' | undefined
  /** `skip` reads the text of links and the host of bare addresses, `read` all of the address too; `skip` if absent. */
  readonly links?: 'skip' | 'read' | undefined
  readonly emoji?: 'skip' | 'read' | undefined
}

/** Takes text in any pieces, and gives sentences as early as they are certain: the same ones for every cut. */
export interface SentenceSplitter {
  push(text: string): Sentence[]
  /** What is left. The next text begins a new sentence. */
  flush(): Sentence[]
}
