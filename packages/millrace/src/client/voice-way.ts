import type { MillraceError } from '../protocol/index.ts'
import type { Http } from './http.ts'
import type { ReconnectOptions, Sockets } from './options.ts'

/** The way to a thread that is to be spoken. */
export interface VoiceWay {
  readonly op: string
  /** Of the thread. */
  readonly path: string
  readonly http: Http
  readonly sockets: Sockets
  readonly retry: ReconnectOptions
  readonly onRetry: ((error: MillraceError, delayMs: number) => void) | undefined
}
