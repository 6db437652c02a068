import type { MillraceError, OptionTable, ThreadInfo } from '../protocol/index.ts'
import {
  aFunction,
  anObject,
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import type { Protocol, Voice } from '../protocols/index.ts'
import { errorListener } from '../threads/index.ts'

/** Who is asking. */
export interface Identity {
  /** Threads are made in this name, and limits are counted by it. */
  readonly user: string
  /** Which threads it may see and use; those of the same `user` if absent. */
  readonly sees?: ((thread: ThreadInfo) => boolean | Promise<boolean>) | undefined
  /** May see what went to the models of those threads, system prompts included. Not so if absent. */
  readonly inspects?: boolean | undefined
}

/** Tells who sent a request, by its headers or its address; nobody is refused with 401. The body is not there to be read. */
export type Auth = (request: Request) => Identity | null | undefined | Promise<Identity | null | undefined>

export interface Limits {
  /** The largest body of a request. */
  readonly bodyBytes: number
  /** All headers of a request taken together. */
  readonly headerBytes: number
  /** The largest frame of a socket's client. */
  readonly frameBytes: number
  /** How many frames a client may send a second, and four times that at once. */
  readonly framesPerSecond: number
  /** How many connections may be open, and how many streams over them. */
  readonly connections: number
  /** How many connections may be open from one address. Not counted with `trustProxy`: those are the proxy's. */
  readonly connectionsPerAddress: number
  /** How many streams one caller may have open: a signed-in user, or without `auth` an address. */
  readonly streams: number
  /** How many requests one caller may send in a second, and four times that at once. */
  readonly requestsPerSecond: number
  /** How many sign-ins from one address may fail in a minute. Those beyond get 429, without `auth` being asked. */
  readonly failedSignIns: number
  /** How many requests of one caller may be under way. */
  readonly requestsAtOnce: number
  /** The largest answer, in bytes. A longer one comes in pages; an entry or a model call that is larger by itself is sent alone. */
  readonly answerBytes: number
  /**
   * What the process holds for clients: bodies being read, answers being sent, entries that followers wait for. One caller may hold
   * a quarter. Beyond it followers read from the store at their own pace, and requests are refused.
   */
  readonly bufferBytes: number
}

export interface ServerOptions {
  /** Without it everything is visible to everybody, so it listens on loopback only. `false` says that this is meant. */
  readonly auth?: Auth | false | undefined
  /** Names that it goes by, beside those of loopback and the address it was reached at: `['chat.example.org']`. */
  readonly hosts?: readonly string[] | undefined
  /** Pages of these origins may use it from a browser: `['https://app.example.org']`. */
  readonly origins?: readonly string[] | undefined
  readonly limits?: Partial<Limits> | undefined
  /**
   * Whether clients come through a proxy that sets `x-forwarded-for`, so that limits by address count them and not the proxy:
   * `true` for one proxy, or the addresses and networks of all of them (`['10.0.0.0/8']`). Anyone who reaches the server past
   * the proxy can then claim any address.
   */
  readonly trustProxy?: boolean | readonly string[] | undefined
  /** The page at `/`: chat and inspector. `false` serves none. */
  readonly page?: boolean | undefined
  /** Further wire protocols that clients may speak, beside our own, such as `mcpProtocol()` of `@millrace/tools/mcp`: see `Protocol`. */
  readonly protocols?: readonly Protocol[] | undefined
  /** Speaks over the sockets, and listens: `voice()` of `@millrace/voice`. It stays yours to close. Not so if absent. */
  readonly voice?: Voice | undefined
  /** How often it is checked that an open stream is still for its user to see: by `auth`, with the headers it was opened with, and `sees`. */
  readonly recheckMs?: number | undefined
  /** How often a quiet connection is given a sign of life. */
  readonly heartbeatMs?: number | undefined
  /** So long a client may take nothing before it is dropped. */
  readonly stuckMs?: number | undefined
  /** Told of what goes wrong inside while clients are told only that it did. On stderr if absent. */
  readonly onError?: ((error: MillraceError) => void) | undefined
}

/** With everything filled in. */
export interface ServerSettings {
  readonly auth: Auth | false | undefined
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
  readonly limits: Limits
  readonly trustProxy: boolean | readonly string[]
  readonly page: boolean
  readonly protocols: readonly Protocol[]
  readonly voice: Voice | undefined
  readonly recheckMs: number
  readonly heartbeatMs: number
  readonly stuckMs: number
  readonly onError: (error: MillraceError) => void
}

const defaultLimits: Limits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  frameBytes: 1024 * 1024,
  framesPerSecond: 50,
  connections: 10_000,
  connectionsPerAddress: 2500,
  streams: 100,
  requestsPerSecond: 50,
  failedSignIns: 10,
  requestsAtOnce: 32,
  answerBytes: 4 * 1024 * 1024,
  bufferBytes: 256 * 1024 * 1024,
}

const list = (what: string, isOne: (value: string) => boolean) => (value: unknown) =>
  !(Array.isArray(value) && value.every((one) => typeof one === 'string' && isOne(one))) &&
  `must be a list of ${what}`

export const serverTable: OptionTable<ServerOptions> = {
  auth: (value) => value !== false && aFunction(value),
  hosts: list("names without port, such as 'chat.example.org'", (name) => /^[^\s/:@]+$/.test(name)),
  origins: list(
    "origins, such as 'https://app.example.org'",
    (origin) => URL.canParse(origin) && new URL(origin).origin === origin,
  ),
  limits: anObject,
  trustProxy: (value) => typeof value !== 'boolean' && list('addresses', () => true)(value),
  page: yesOrNo,
  protocols: (value) =>
    !(Array.isArray(value) && value.every((one) => isObject(one) && typeof one.mount === 'function')) &&
    'must be a list of protocols, each an object with name and mount()',
  voice: (value) =>
    !(isObject(value) && typeof value.open === 'function') &&
    'must be what voice() of @millrace/voice gives, such as voice({ speech: flite() })',
  recheckMs: duration,
  heartbeatMs: duration,
  stuckMs: duration,
  onError: aFunction,
}

const limitsTable = {
  ...(Object.fromEntries(
    Object.keys(defaultLimits).map((name) => [name, wholeNumber(1)]),
  ) as OptionTable<Limits>),
  answerBytes: wholeNumber(64 * 1024),
  bufferBytes: wholeNumber(1024 * 1024),
  streamsPerUser: () => "is called 'streams' now: it holds for each caller, signed in or not",
}

/** Throws `invalid_input` naming the option. */
export function readServerOptions(options: ServerOptions, op: string): ServerSettings {
  if (!isObject(options as unknown))
    throw invalidInput(op, `${op}() takes an object of options, not ${kindOf(options)}`)
  checkOptions(options, serverTable, { op, what: 'the option' })
  const {
    auth,
    hosts = [],
    origins = [],
    limits = {},
    trustProxy = false,
    page = true,
    protocols = [],
    recheckMs = 30_000,
    heartbeatMs = 15_000,
    stuckMs = 30_000,
  } = options
  checkOptions(limits, limitsTable, { op, what: 'the option limits.' })
  return {
    auth,
    hosts,
    origins,
    limits: { ...defaultLimits, ...limits },
    trustProxy,
    page,
    protocols,
    voice: options.voice,
    recheckMs,
    heartbeatMs,
    stuckMs,
    onError: errorListener(options.onError),
  }
}
