import type {
  Answer,
  ExchangesOptions,
  FollowOptions,
  JsonObject,
  MillraceError,
  OptionTable,
  SendOptions,
  ThreadStatus,
} from '../protocol/index.ts'
import {
  aFunction,
  anObject,
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  logPosition,
  nameOf,
  oneOf,
  someText,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import type { VoiceLineOptions } from './voice-options.ts'

/** `fetch`, or something that behaves like it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What is used of a WebSocket: that of the platform, or of a package. */
export interface SocketLike {
  /** Bytes are sent by a voice line only, as are those below. */
  send(data: string | Uint8Array<ArrayBuffer>): void
  binaryType?: string
  readonly bufferedAmount?: number
  readonly readyState?: number
  close(code?: number): void
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void
  addEventListener(
    type: 'close',
    listener: (event: { readonly code: number; readonly reason: string }) => void,
  ): void
  addEventListener(type: 'error', listener: () => void): void
}

export interface ReconnectOptions {
  /**
   * How often a request is sent before its failure is the caller's; 1 never repeats it. Following is given up after so many
   * failures only if it never worked: after that it comes back for as long as it takes.
   */
  readonly attempts?: number | undefined
  /** The first wait, on average a little less; each further one is twice as long. A server may ask followers for another. */
  readonly baseMs?: number | undefined
  /** The longest wait, unless the server asks for a longer one; a request is then given up at once. */
  readonly maxDelayMs?: number | undefined
}

export interface ClientOptions {
  /** Sent as `authorization: Bearer …`, and to a socket as a subprotocol. A function is asked before each request. */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** Sent with each request. A WebSocket in a browser cannot carry any, so with these threads are followed over SSE. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly fetch?: Fetch | undefined
  readonly WebSocket?: (new (url: string, protocols: string[]) => SocketLike) | undefined
  /** How threads are followed. `auto`: over a WebSocket, or over SSE where one cannot be opened. */
  readonly transport?: 'auto' | 'websocket' | 'sse' | undefined
  readonly retry?: ReconnectOptions | undefined
  /** The longest wait for the answer to a request. */
  readonly timeoutMs?: number | undefined
  /** The longest wait for a stream to begin. */
  readonly openMs?: number | undefined
  /** A stream on which nothing came for so long, not even a sign of life, is given up and opened anew. */
  readonly silenceMs?: number | undefined
  /** Told of each failure that does not reach the caller, since it is tried again after `delayMs`. */
  readonly onRetry?: ((error: MillraceError, delayMs: number) => void) | undefined
  /** Told each time that a thread which is followed can be heard: at first, and again after a connection was lost. */
  readonly onOpen?: (() => void) | undefined
}

/** How sockets to a server are opened. */
export interface Sockets extends Pick<ClientOptions, 'WebSocket' | 'headers'> {
  /** Of the server: `ws://…`, without a slash at the end. */
  readonly url: string
  readonly openMs: number
  readonly silenceMs: number
}

export type WatchOptions = Pick<FollowOptions, 'signal'>

export interface ReadEntriesOptions {
  readonly after?: number | undefined
  /** About how many entries at most, up to 10,000. */
  readonly limit?: number | undefined
  /** Deltas as they were first written, not joined. */
  readonly split?: boolean | undefined
}

export interface CreateThreadOptions {
  /** 1 to 128 letters, digits, dots, dashes and underscores. One is made up if absent. */
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly metadata?: JsonObject | undefined
}

export interface ForkThreadOptions {
  readonly id?: string | undefined
}

export interface ListThreadsOptions {
  readonly limit?: number | undefined
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
  readonly agent?: string | undefined
  readonly status?: ThreadStatus | undefined
  /** Words that must all occur, in upper or lower case, in title, id, agent or the values of the metadata. */
  readonly search?: string | undefined
}

const clientTable: OptionTable<ClientOptions> = {
  token: (value) => typeof value !== 'function' && someText(value),
  headers: (value) =>
    !(isObject(value) && Object.values(value).every((one) => typeof one === 'string')) &&
    'must be an object of strings',
  fetch: aFunction,
  WebSocket: aFunction,
  transport: oneOf('auto', 'websocket', 'sse'),
  retry: anObject,
  timeoutMs: duration,
  openMs: duration,
  silenceMs: duration,
  onRetry: aFunction,
  onOpen: aFunction,
}

const retryTable: OptionTable<ReconnectOptions> = {
  attempts: wholeNumber(1),
  baseMs: duration,
  maxDelayMs: duration,
}

/** Not `instanceof`: a page, a frame and a test environment each have an AbortSignal of their own. */
const aSignal = (value: unknown) =>
  !(isObject(value) && typeof value.aborted === 'boolean' && 'addEventListener' in value) &&
  'must be an AbortSignal'

/** `.` and `..` would be taken for steps in the address. */
export const threadId = (value: unknown) =>
  !(typeof value === 'string' && /^(?!\.{1,2}$)[\w.-]{1,128}$/.test(value)) &&
  `must be 1 to 128 letters, digits, dots, dashes and underscores, not ${nameOf(value)}`

const sendTable: OptionTable<SendOptions> = { mode: oneOf('queue', 'steer', 'interrupt'), key: someText }
const followTable: OptionTable<FollowOptions> = {
  after: logPosition,
  signal: aSignal,
  until: (value) => value !== 'idle' && wholeNumber(1)(value) && "must be 'idle' or the number of an input",
}
const watchTable: OptionTable<WatchOptions> = { signal: aSignal }
const voiceTable: OptionTable<VoiceLineOptions> = {
  player: anObject,
  microphone: anObject,
  sampleRate: (value) =>
    (wholeNumber(8000)(value) || Number(value) > 48_000) && `must be 8000 to 48000, not ${nameOf(value)}`,
  speak: yesOrNo,
  listen: yesOrNo,
  from: anObject,
  onSentence: aFunction,
  onTranscript: aFunction,
  onHearing: aFunction,
  onRecord: aFunction,
  onError: aFunction,
  onState: aFunction,
  signal: aSignal,
}
const readTable: OptionTable<ReadEntriesOptions> = {
  after: wholeNumber(0),
  limit: wholeNumber(1),
  split: yesOrNo,
}
const exchangesTable: OptionTable<ExchangesOptions> = { run: someText, round: wholeNumber(1) }
const answerTable: OptionTable<Answer> = {
  approved: yesOrNo,
  reason: someText,
  input: anObject,
  remember: (value) => (typeof value === 'string' ? oneOf('thread', 'always')(value) : anObject(value)),
}
const createTable: OptionTable<CreateThreadOptions> = { id: threadId, agent: someText, metadata: anObject }
const forkTable: OptionTable<ForkThreadOptions> = { id: threadId }
const listTable: OptionTable<ListThreadsOptions> = {
  limit: wholeNumber(1),
  cursor: someText,
  agent: someText,
  status: oneOf('idle', 'queued', 'running', 'waiting'),
  search: someText,
}

const tables = {
  state: { before: wholeNumber(1) },
  send: sendTable,
  follow: followTable,
  watch: watchTable,
  voice: voiceTable,
  read: readTable,
  exchanges: exchangesTable,
  approve: answerTable,
  create: createTable,
  fork: forkTable,
  threads: listTable,
}

/** Throws `invalid_input` at the first option of a method that is not as it should be. */
export function checkFor(method: keyof typeof tables, options: object): void {
  const op = `client.${method}`
  if (!isObject(options))
    throw invalidInput(op, `${method}() takes an object of options, not ${kindOf(options)}`)
  checkOptions(options, tables[method], { op, what: `${method}(): the option` })
}

export function checkClientOptions(options: ClientOptions): void {
  const op = 'client'
  if (!isObject(options))
    throw invalidInput(op, `client() takes an object of options, not ${kindOf(options)}`)
  checkOptions(options, clientTable, { op, what: 'the client option' })
  if (options.retry) checkOptions(options.retry, retryTable, { op, what: 'the client option retry.' })
  if (options.headers && options.transport === 'websocket')
    throw invalidInput(op, "a WebSocket cannot carry 'headers': pass a 'token', or the transport 'sse'")
}
