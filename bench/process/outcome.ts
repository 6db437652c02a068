/** How a job went. */
export type Outcome =
  | { readonly type: 'done'; readonly figures: Record<string, number> }
  /** The client cannot do this at all, and says why. */
  | { readonly type: 'left-out'; readonly reason: string }
  /** What came is not what was sent, or something was thrown. */
  | { readonly type: 'failed'; readonly reason: string }
  /** Ended by the runner. */
  | { readonly type: 'over'; readonly limitMs: number }

/** Thrown when a client has nothing to offer for a work. */
export class NotOffered extends Error {}
