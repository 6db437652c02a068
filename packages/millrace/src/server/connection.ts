/** What a server that holds the connection lends to its handler. */
export interface Connection {
  /** The address that the client has reached. */
  readonly localAddress: string | undefined
  /** The address that the client counts for: see `addressOf`. */
  readonly address: string | undefined
  /** Aborted when the client has gone, and when it has been answered. */
  readonly gone: AbortSignal
  /** The body of the request. Throws 413 past `most`. */
  readBody(most: number): Promise<Uint8Array<ArrayBuffer>>
  /** Takes a function that is told how many bytes the answer has, and when it is sent the same number below zero. */
  countAnswer(count: (bytes: number) => void): void
}
