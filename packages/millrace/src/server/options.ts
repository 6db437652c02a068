import type { MillraceError, OptionTable, ThreadInfo } from '../protocol/index.ts'
import {
  aFunction,
  anObject,
  checkOptions,
  duration,
  errorListener,
  invalidInput,
  isObject,
  kindOf,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import type { ClientOption, Protocol, Voice } from '../protocols/index.ts'
import { defaultClientOptions, requestOptions } from '../protocols/index.ts'

/** Who sent a request. */
export interface Identity {
  /** Owns the threads that it creates. Limits are counted per user. */
  readonly user: string
  /** Which threads the user may see and use. Defaults to the threads of the same `user`. */
  readonly canSee?: ((thread: ThreadInfo) => boolean | Promise<boolean>) | undefined
  /**
   * Whether the user may see recorded model calls and how agents are set up, including system
   * prompts, send everything with a message that a `RunRequest` can have, and raise budgets per day.
   * With `canSee`, the user also sees what all users have spent. Defaults to false.
   */
  readonly canInspect?: boolean | undefined
}

/**
 * Identifies the user who sent a request, from its headers or its URL. The body is not available.
 * Return `null` to reject the request with 401.
 */
export type Auth = (request: Request) => Identity | null | undefined | Promise<Identity | null | undefined>

export interface Limits {
  /** The largest body of a request. */
  readonly bodyBytes: number
  /** The total size of the headers of a request. */
  readonly headerBytes: number
  /** The largest WebSocket frame that a client may send. */
  readonly frameBytes: number
  /** How many WebSocket frames a client may send per second, with bursts of four times as many. */
  readonly framesPerSecond: number
  /** The number of open connections, and the number of open streams. */
  readonly connections: number
  /**
   * The number of open connections from one address. Not used with `trustProxy`: they are the
   * proxy's.
   */
  readonly connectionsPerAddress: number
  /** The number of open streams per caller: a signed-in user, or an address without `auth`. */
  readonly streams: number
  /** How many requests a caller may send per second, with bursts of four times as many. */
  readonly requestsPerSecond: number
  /**
   * How many sign-ins from one address may fail per minute. Further ones are rejected with 429,
   * without calling `auth`.
   */
  readonly failedSignIns: number
  /** How many requests of one caller may be in progress. */
  readonly requestsAtOnce: number
  /**
   * The largest response, in bytes. Longer results are paginated. A single entry or model call that
   * is larger is still sent, alone on its page.
   */
  readonly responseBytes: number
  /**
   * How much the process buffers for clients: bodies being read, responses being sent, entries
   * queued for followers. One caller may use a quarter. When the buffer is full, followers read
   * from the store at their own pace, and requests are rejected.
   */
  readonly bufferBytes: number
}

export interface ServerOptions {
  /**
   * Identifies callers. Without it every caller can see everything, so the server only listens on
   * loopback addresses. `false` confirms that this is intended, and allows any address.
   */
  readonly auth?: Auth | false | undefined
  /**
   * Host names of the server: `['chat.example.org']`. Loopback names and the address that a client
   * has connected to are always accepted.
   */
  readonly hosts?: readonly string[] | undefined
  /** Web pages of these origins may use the server: `['https://app.example.org']`. */
  readonly origins?: readonly string[] | undefined
  readonly limits?: Partial<Limits> | undefined
  /**
   * Read client addresses from `x-forwarded-for`, so that limits count clients and not the proxy.
   * `true` trusts one proxy; a list has the addresses and networks of all proxies
   * (`['10.0.0.0/8']`). A client that can bypass the proxy can then claim any address.
   */
  readonly trustProxy?: boolean | readonly string[] | undefined
  /** Whether to serve the page at `/`: chat and inspector. Defaults to true. */
  readonly page?: boolean | undefined
  /**
   * False if the server only answers health checks, for a process that only runs agents. It then
   * listens on any address without `auth`. Defaults to true.
   */
  readonly clients?: boolean | undefined
  /**
   * Additional wire protocols for clients, such as `mcpProtocol()` from `@millrace/tools/mcp`. See
   * `Protocol`.
   */
  readonly protocols?: readonly Protocol[] | undefined
  /**
   * What clients may send along with a message, in `request`. Defaults to `['model', 'tools',
   * 'toolChoice', 'output']`: they can choose one of the agent's `models`, and bring tools that they
   * run themselves. With `system` they can add to the system prompt, and with `settings` they can
   * change the settings of the model, except for `extra` and `headers`. An object has a list for each
   * agent; the default applies to the agents that it does not name. Callers whose `auth` returns
   * `canInspect` can send all of it and, unless this option is set, so can callers without `auth`.
   */
  readonly clientOptions?:
    | readonly ClientOption[]
    | Readonly<Record<string, readonly ClientOption[]>>
    | undefined
  /**
   * Adds voice to the WebSockets: `voice()` from `@millrace/voice`. The server does not close it.
   */
  readonly voice?: Voice | undefined
  /**
   * How often each open stream is checked again: with `auth`, using the headers it was opened with,
   * and `canSee`.
   */
  readonly recheckMs?: number | undefined
  /** How often a heartbeat is sent on an idle connection. */
  readonly heartbeatMs?: number | undefined
  /** A client that reads nothing for this long is disconnected. */
  readonly stuckMs?: number | undefined
  /**
   * Called with internal errors, which clients see without details. Defaults to logging on stderr.
   */
  readonly onError?: ((error: MillraceError) => void) | undefined
}

/** `ServerOptions` with all defaults applied. */
export interface ServerSettings {
  readonly auth: Auth | false | undefined
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
  readonly limits: Limits
  readonly trustProxy: boolean | readonly string[]
  readonly page: boolean
  readonly clients: boolean
  readonly protocols: readonly Protocol[]
  readonly clientOptions: NonNullable<ServerOptions['clientOptions']>
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
  responseBytes: 4 * 1024 * 1024,
  bufferBytes: 256 * 1024 * 1024,
}

const list = (what: string, isOne: (value: string) => boolean) => (value: unknown) =>
  !(Array.isArray(value) && value.every((one) => typeof one === 'string' && isOne(one))) &&
  `must be a list of ${what}`

const optionNames = list(`any of ${requestOptions.join(', ')}`, (name) =>
  requestOptions.includes(name as ClientOption),
)

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
  clients: yesOrNo,
  protocols: (value) =>
    !(Array.isArray(value) && value.every((one) => isObject(one) && typeof one.mount === 'function')) &&
    'must be a list of protocols, each an object with name and mount()',
  clientOptions: (value) =>
    isObject(value) ? Object.values(value).map(optionNames).find(Boolean) : optionNames(value),
  voice: (value) =>
    !(isObject(value) && typeof value.open === 'function') &&
    'must be the result of voice() from @millrace/voice, such as voice({ speech: flite() })',
  recheckMs: duration,
  heartbeatMs: duration,
  stuckMs: duration,
  onError: aFunction,
}

const limitsTable = {
  ...(Object.fromEntries(
    Object.keys(defaultLimits).map((name) => [name, wholeNumber(1)]),
  ) as OptionTable<Limits>),
  responseBytes: wholeNumber(64 * 1024),
  bufferBytes: wholeNumber(1024 * 1024),
  streamsPerUser: () => "was renamed to 'streams': it applies to each caller, signed in or not",
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
    clients = true,
    protocols = [],
    clientOptions = defaultClientOptions,
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
    clients,
    protocols,
    clientOptions,
    voice: options.voice,
    recheckMs,
    heartbeatMs,
    stuckMs,
    onError: errorListener(options.onError),
  }
}
