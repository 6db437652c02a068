import type { HeaderLookup } from './retry-after.ts'

/** `fetch`, or something that behaves like it: through a proxy, with another agent, recorded, signed. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A POST, or a GET where there is no body. */
export interface HttpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
}

/** Headers that can be gone through, too. */
export interface AnswerHeaders extends HeaderLookup, Iterable<readonly [string, string]> {}

/** An answer whose body is being read, whichever way it was sent for. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** It leads elsewhere; in browsers not even the status is to be seen of that. */
  readonly isRedirect: boolean
  /** How the bytes are compressed, where nobody has undone that. */
  readonly encoding?: string
  /** The next bytes, or nothing at the end. Rejects if the connection breaks; ends if the signal is aborted. One call at a time. */
  read(): Promise<Uint8Array | undefined>
  /** Lets go of the connection, and of the signal. To be called in the end, whatever came of it. */
  close(): void
}
