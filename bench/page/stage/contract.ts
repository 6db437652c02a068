// What the pages of this folder put on their `window` for the benchmark.

/** A page that shows an answer. */
export interface Player {
  load(pieces: readonly string[]): void
  /** Draws these pieces, `perFrame` in each frame. Resolves when the last of them are painted. */
  play(range: { readonly from: number; readonly to: number; readonly perFrame: number }): Promise<void>
}

/** A page that reads a thread. */
export interface Reader {
  /**
   * Fetches and parses these pages of a log or list, one after the other. Returns the number of
   * entries.
   */
  read(pages: readonly string[]): Promise<number>
  /** Shows the words of a thread as they arrive. */
  follow(events: string): void
}
