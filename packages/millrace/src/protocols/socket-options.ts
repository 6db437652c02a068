import type { Socket } from 'node:net'
import type { OptionTable } from '../protocol/index.ts'
import {
  aFunction,
  anObject,
  checkOptions,
  duration,
  isObject,
  logPosition,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import type { Voice } from './voice.ts'

export interface SocketOptions {
  /** The connection that the WebSocket runs over: `request.socket`. */
  readonly socket: Socket
  readonly thread: Thread
  /**
   * Sends what comes after this number, or after the head that `ready` names if it is `now`. If absent, nothing is sent before the
   * client asks for it; without `stream` it is `now`.
   */
  readonly after?: number | 'now' | undefined
  /** `false` sends no entries: one message at the end of each run, and what a person has to decide. */
  readonly stream?: boolean | undefined
  readonly heartbeatMs?: number | undefined
  /** So long a client may take nothing before it is dropped. */
  readonly stuckMs?: number | undefined
  /** How many frames a client may send a second, and four times that at once. */
  readonly framesPerSecond?: number | undefined
  /** What speaks and listens, if the client wants it: `voice()` of `@millrace/voice`. */
  readonly voice?: Voice | undefined
  /** Called before each command of the client. What it throws refuses the command. */
  readonly authorize?: (() => void | Promise<void>) | undefined
  /** Told of what goes wrong that is not the client's doing. */
  readonly onError?: ((error: unknown, id: string) => void) | undefined
}

const table: OptionTable<SocketOptions> = {
  socket: anObject,
  thread: anObject,
  after: logPosition,
  stream: yesOrNo,
  heartbeatMs: duration,
  stuckMs: duration,
  framesPerSecond: wholeNumber(1),
  voice: (value) =>
    !(isObject(value) && typeof value.open === 'function') && 'must be what voice() of @millrace/voice gives',
  authorize: aFunction,
  onError: aFunction,
}

/** With everything filled in. Throws `invalid_input` naming the option. */
export function readSocketOptions(options: SocketOptions) {
  const required = { socket: options.socket ?? null, thread: options.thread ?? null }
  checkOptions({ ...options, ...required }, table, { op: 'attachSocket', what: 'the option' })
  const {
    stream = true,
    after = stream ? undefined : 'now',
    heartbeatMs = 15_000,
    stuckMs = 30_000,
    framesPerSecond = 50,
    authorize = () => {},
    onError = () => {},
  } = options
  return { ...options, after, stream, heartbeatMs, stuckMs, framesPerSecond, authorize, onError }
}
