// What the pages of this folder put on their `window`, for whoever measures them.

/** A page that shows an answer. */
export interface Player {
  load(pieces: readonly string[]): void
  /** Draws these pieces, so many in each frame. Resolves when the last of them are painted. */
  play(range: { readonly from: number; readonly to: number; readonly perFrame: number }): Promise<void>
}

/** A page that reads a thread. */
export interface Reader {
  /** Fetches these pages of a log, one after the other, and parses them. Gives how many entries there were. */
  read(pages: readonly string[]): Promise<number>
  /** Shows the words of a thread as they come. */
  follow(events: string): void
}
