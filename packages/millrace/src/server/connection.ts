/** The connection of a request, as far as its handler needs it. */
export interface Connection {
  /** The server address that the client connected to. */
  readonly localAddress: string | undefined
  /** The client address that limits count by: see `addressOf`. */
  readonly address: string | undefined
  /** Aborted when the client has disconnected, and when the response has been sent. */
  readonly closed: AbortSignal
  /** Reads the body of the request. Rejects with 413 past `maxBytes`. */
  readBody(maxBytes: number): Promise<Uint8Array<ArrayBuffer>>
  /** Calls `count` with the size of the response, and with the negated size once it is sent. */
  countResponse(count: (bytes: number) => void): void
}
