import type { HeaderLookup } from './retry-after.ts'

/** `fetch`, or a replacement: through a proxy, with another agent, recording, signing. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A POST, or a GET if there is no body. */
export interface HttpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
}

/** Headers that can also be iterated. */
export interface ResponseHeaders extends HeaderLookup, Iterable<readonly [string, string]> {}

/** A response whose body is being read, from `fetch`, undici's dispatcher or `node:http`. */
export interface HttpResponse {
  readonly status: number
  /** Until the first read: a response may be read for minutes. */
  readonly headers: ResponseHeaders
  /** In browsers a redirect does not even show its status. */
  readonly isRedirect: boolean
  /** How the bytes are compressed, if they were not decompressed. */
  readonly encoding?: string | undefined
  /**
   * The next bytes, or undefined at the end. Rejects if the connection breaks; ends if the signal
   * is aborted. One read at a time.
   */
  read(): Promise<Uint8Array | undefined>
  /** Nothing follows what was read. Not every transport knows. */
  readonly hasEnded?: boolean
  /** Releases the connection and the signal. Must always be called in the end. */
  close(): void
}
