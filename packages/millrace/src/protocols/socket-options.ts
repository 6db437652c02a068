import type { Socket } from 'node:net'
import type { OptionTable, RunRequest } from '../protocol/index.ts'
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
import { defaultClientOptions, inspectorOptions } from './commands.ts'
import type { Voice } from './voice.ts'

export interface SocketOptions {
  /** The connection that the WebSocket runs over: `request.socket`. */
  readonly socket: Socket
  readonly thread: Thread
  /**
   * Sends the entries after this number, or, for `now`, after the head reported in `ready`. By
   * default nothing is sent until the client sends `resume`; with `stream: false` the default is
   * `now`.
   */
  readonly after?: number | 'now' | undefined
  /**
   * `false` sends one message at the end of each run, and approval requests, instead of all
   * entries.
   */
  readonly stream?: boolean | undefined
  readonly heartbeatMs?: number | undefined
  /** A client that reads nothing for this long is disconnected. */
  readonly stuckMs?: number | undefined
  /** How many frames a client may send per second, with bursts of four times as many. */
  readonly framesPerSecond?: number | undefined
  /** Adds voice for clients that request it: `voice()` from `@millrace/voice`. */
  readonly voice?: Voice | undefined
  /** What clients may send in `request`. Defaults to `model`, `tools`, `toolChoice` and `output`. */
  readonly clientOptions?: Iterable<keyof RunRequest> | undefined
  /** Called before each command of the client. An exception rejects the command. */
  readonly authorize?: (() => void | Promise<void>) | undefined
  /** Called with errors that the client did not cause. */
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
    !(isObject(value) && typeof value.open === 'function') &&
    'must be the result of voice() from @millrace/voice',
  clientOptions: (value) =>
    !(
      Symbol.iterator in Object(value) &&
      [...(value as Iterable<keyof RunRequest>)].every((name) => inspectorOptions.has(name))
    ) && `must be a list with any of ${[...inspectorOptions].join(', ')}`,
  authorize: aFunction,
  onError: aFunction,
}

/** Applies the defaults. Throws `invalid_input` with the name of an invalid option. */
export function readSocketOptions(options: SocketOptions) {
  const required = { socket: options.socket ?? null, thread: options.thread ?? null }
  checkOptions({ ...options, ...required }, table, { op: 'attachSocket', what: 'the option' })
  const {
    stream = true,
    after = stream ? undefined : 'now',
    heartbeatMs = 15_000,
    stuckMs = 30_000,
    framesPerSecond = 50,
    clientOptions = defaultClientOptions,
    authorize = () => {},
    onError = () => {},
  } = options
  return {
    ...{ ...options, after, stream, heartbeatMs, stuckMs, framesPerSecond, authorize, onError },
    clientOptions: new Set(clientOptions),
  }
}
