import type { MillraceError } from '../protocol/index.ts'
import type { Http } from './http.ts'
import type { ReconnectOptions, Sockets } from './options.ts'

/** How to reach the thread of a voice line. */
export interface VoiceTarget {
  readonly op: string
  /** The path of the thread. */
  readonly path: string
  readonly http: Http
  readonly sockets: Sockets
  readonly retry: ReconnectOptions
  readonly onRetry: ((error: MillraceError, delayMs: number) => void) | undefined
}
