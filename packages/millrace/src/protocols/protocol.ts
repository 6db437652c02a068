import type { Socket } from 'node:net'
import type {
  AgentInfo,
  Entry,
  FollowOptions,
  JsonObject,
  PublicError,
  RunRequest,
  SpendingOptions,
  SpendingRow,
  ThreadInfo,
  ThreadPage,
} from '../protocol/index.ts'
import type { Thread, ThreadCreateOptions, ThreadsOptions } from '../threads/index.ts'
import type { Fields } from './fields.ts'

/**
 * A wire protocol for clients: how requests become commands on threads, and how the log of a thread
 * becomes frames. All protocols of a server serve the same threads.
 *
 * The server does the rest: it checks host and origin, authenticates callers, enforces limits, ends
 * streams when access is revoked, and disconnects clients that do not read. Access threads only
 * through `context.caller`, which hides the threads of other users and the details of internal
 * errors.
 */
export interface Protocol {
  /** Unique within a server. */
  readonly name: string
  /**
   * Called once, before the first request. Throws `invalid_input` for options that do not fit the
   * host.
   */
  mount(host: ProtocolHost): MountedProtocol
}

/** What a server provides to its protocols. */
export interface ProtocolHost {
  /** The names of the agents. The first one is the default. */
  readonly agents: readonly string[]
  readonly limits: {
    readonly [Name in 'bodyBytes' | 'frameBytes' | 'framesPerSecond' | 'streams' | 'responseBytes']: number
  }
  readonly heartbeatMs: number
  readonly stuckMs: number
  /**
   * What a message from a client to an agent may come with. `metadata` always may. A foreign
   * protocol ignores the rest, since its clients send it without being asked. Pass the caller if
   * clients send these fields on purpose: callers who may inspect can send all of them.
   */
  readonly clientOptions: ClientOptions
  /** Whether callers have to authenticate, except on public routes. */
  readonly authenticates: boolean
  /** What everyone may know about an agent. */
  describe(agent: string): AgentInfo
  /**
   * A thread for work that no request is waiting for, such as notifications: without the details of
   * internal errors if callers authenticate. Check access with `context.caller` before.
   */
  openThread(threadId: string): Thread
  /**
   * The error as a client may see it. An error that the client did not cause gets an id, and is
   * reported to the server's owner under that id.
   */
  publicError(thrown: unknown): PublicError
  /** Reports an error to the server's owner, under the id that the client got. */
  onError(thrown: unknown, id: string): void
}

/** The fields of `request` that clients of an agent may send. */
export type ClientOptions = (
  agent: string,
  caller?: Pick<Caller, 'canInspect'>,
) => ReadonlySet<keyof RunRequest>

export interface MountedProtocol {
  /** The first route of the server that matches a request handles it. */
  readonly routes: readonly Route[]
  /** Paths below which `error` is also used if no route matches: `['/v1']`. */
  readonly prefixes?: readonly string[]
  /**
   * Formats an error for this protocol: whatever its routes throw, and the server's own rejections
   * (401, 403, 404, 405, 413, 429, 503). The server adds `www-authenticate` and `retry-after`. The
   * default format is `{ "error": { code, message } }`.
   */
  error?(error: HttpError): Response
  /** Loads what the protocol needs. `listen()` waits for it, and rejects if it rejects. */
  ready?(): Promise<void>
  /** Ends open streams and sessions. Called once. Runs continue. */
  close?(): Promise<void>
}

export interface HttpError extends PublicError {
  readonly status: number
  /** The field of the request that is wrong, if it is known. */
  readonly param?: string
}

/** A route of the server. Routes with a `name` are part of `openapi.json`. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * `:name` matches one segment, and `*` at the end matches the rest: `/v1/threads/:id`,
   * `/files/*`.
   */
  readonly path: string
  /** The operation id. */
  readonly name?: string
  readonly summary?: string
  /** Successful responses by status; `default` describes errors. */
  readonly responses?: Readonly<Record<number | 'default', RouteResponse> | Record<number, RouteResponse>>
  /** Public: no authentication and no limits. */
  readonly isPublic?: boolean
  readonly query?: Fields
  readonly headers?: Fields
  /**
   * The fields of the JSON body; others are rejected. Without it, `handle` reads the body itself.
   */
  readonly body?: Fields
  /**
   * The largest body, or message of a WebSocket. Defaults to `limits.bodyBytes` and
   * `limits.frameBytes`.
   */
  readonly bodyBytes?: number
  /** Answers a request. An exception becomes an error response. */
  readonly handle?: (call: RouteContext) => Response | Promise<Response>
  /** Accepts a WebSocket. An exception rejects the upgrade. */
  readonly connect?: (call: SocketContext) => Promise<SocketHandler>
}

export interface RouteResponse {
  readonly description: string
  /** Schemas by media type. Without it there is no body. */
  readonly content?: Readonly<Record<string, JsonObject>>
}

/** A request with an identified caller, whose declared fields have been checked. */
export interface RouteContext {
  readonly request: Request
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  /** Aborted when the client has disconnected, and when the response has been sent. */
  readonly signal: AbortSignal
  /** Reads the raw body. Rejects with 413 past the limit of the route. Can be called once. */
  readBody(): Promise<Uint8Array<ArrayBuffer>>
  /** Reads the body as JSON, without checking fields. Rejects with 400, 413 or 415. */
  readJson(): Promise<unknown>
  /**
   * Takes a slot among the open streams. Throws 429 if the caller has too many, 503 if the server
   * has. Call it before sending a message, so that a rejected request has no effect. A slot that is
   * not used for the response is freed automatically. A response in one piece that may take long
   * needs a slot too: it then no longer counts as a request in progress.
   */
  openStream(): StreamSlot
}

/** A request for a WebSocket. */
export type SocketContext = Pick<RouteContext, 'request' | 'caller' | 'params' | 'query' | 'headers'>

/** Who sent a request. Threads of other users do not exist for them. */
export interface Caller {
  /** Undefined without `auth`. */
  readonly user: string | undefined
  /**
   * What quotas and limits count by: the user, or `address:` and the address. Undefined if both are
   * unknown.
   */
  readonly key: string | undefined
  /** Whether the caller may see recorded model calls and how agents are set up, and replace parts of them. */
  readonly canInspect: boolean
  canSee(thread: ThreadInfo): Promise<boolean>
  /** Rejects with the same 404 whether the thread does not exist or the caller may not see it. */
  getThread(threadId: string): Promise<FoundThread>
  /** Creates a thread that the caller owns. Rejects with `conflict` if the id is taken. */
  createThread(options: NewThreadOptions): Promise<FoundThread>
  listThreads(options: ThreadsOptions): Promise<ThreadPage>
  /**
   * Returns what was spent: by everyone if the caller may see and inspect threads of others,
   * otherwise by the caller.
   */
  spending(options: SpendingOptions): Promise<readonly SpendingRow[]>
  /**
   * Finds the inputs that were sent with an idempotency key, in threads that the caller can see, at
   * most 20. The threads that were created last come first. Only the last 100 threads with the key
   * are searched, so a key that many users may send should depend on the user.
   */
  findInputs(key: string): Promise<readonly FoundInput[]>
  /**
   * Creates a thread with the log of another one up to an entry. The caller owns the new thread.
   * Rejects with `conflict` if the id is taken.
   */
  forkThread(
    found: Pick<FoundThread, 'thread'>,
    at: number,
    options?: Pick<NewThreadOptions, 'id'>,
  ): Promise<FoundThread>
  /** What is left of the requests that the caller may send, as of now. */
  readonly requests: {
    /** How many can be sent at once. */
    readonly limit: number
    readonly remaining: number
    /** The time until `remaining` is `limit` again. */
    readonly resetMs: number
  }
  /**
   * Counts one more request, and throws 429 if there were too many. Each HTTP request is already
   * counted.
   */
  rateLimit(): void
}

export interface FoundThread {
  readonly thread: Thread
  readonly info: ThreadInfo
}

export interface FoundInput extends FoundThread {
  /** The number of the input. */
  readonly input: number
}

export interface NewThreadOptions {
  /**
   * 1 to 128 letters, digits, `_`, `-` or `.`. All users share one namespace, so a guessable id
   * lets other users find out that it is taken.
   */
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly metadata?: JsonObject | undefined
  /** The conversation so far, with `keys` and `request`, as for `thread.create`. */
  readonly messages?: ThreadCreateOptions['messages']
  readonly keys?: ThreadCreateOptions['keys']
  readonly request?: ThreadCreateOptions['request']
  /** In place of `messages`. */
  readonly exported?: ThreadCreateOptions['exported']
}

export interface StreamSlot {
  /**
   * Aborted when the stream must end: the client disconnected, the server is closing, or access was
   * revoked. The reason is an error that says which.
   */
  readonly signal: AbortSignal
  /** A response that follows the thread at the client's pace, and frees the slot when it ends. */
  follow(thread: Thread, from: Pick<FollowOptions, 'after' | 'until'>, frames: Frames): Response
  /**
   * Uses the slot for any other response. It is streamed if it is `text/event-stream`, and sent in
   * one piece otherwise. The slot is freed when the body ends. When the server closes, the
   * protocol's `close` must end it.
   */
  wrap(response: Response): Response
}

export type Frame = string | Uint8Array

/**
 * How the log of a thread is written to a response. Used for one response only, so it may have
 * state.
 */
export interface Frames {
  /** At least `content-type`. */
  readonly headers: Readonly<Record<string, string>>
  /** Sent first, at once. */
  open?(): Frame
  /** Returns undefined for an entry that is not sent. */
  entry(entry: Entry): Frame | undefined
  /**
   * The frames of entries that arrive together, in one piece: for a protocol whose frames are the
   * same for all clients. Without it, `entry` is called for each.
   */
  entries?(entries: readonly Entry[]): Uint8Array
  /** Called after each entry. `true` ends the response, regardless of `until`. */
  isDone?(): boolean
  /** Sent when the thread has reached `until`, or `isDone` returned true. */
  end?(): Frame
  /** Sent on failure: the log cannot be read, the server is closing, or access was revoked. */
  fail?(error: PublicError): Frame
  /** Sent every `heartbeatMs`. Without it there are no heartbeats. */
  readonly heartbeat?: Frame
  /**
   * Whether clients wait for the frame of `end` and reconnect without it. Other clients only notice
   * a cut with chunked encoding, which costs as much as the frames.
   */
  readonly marksEnd?: boolean
}

/** The server side of a WebSocket, as created by the package `ws`. */
export interface ServerSocket {
  readonly readyState: number
  readonly OPEN: number
  send(data: string | Uint8Array): void
  ping(): void
  pause(): void
  resume(): void
  close(code?: number, reason?: string): void
  terminate(): void
  on(event: 'message', listener: (data: unknown, isBinary: boolean) => void): unknown
  on(event: 'close' | 'error' | 'ping' | 'pong', listener: () => void): unknown
}

/** What to do with a WebSocket once it is open. */
export interface SocketHandler {
  /**
   * The thread that the socket is for, if any. The socket is closed when the caller may no longer
   * see it.
   */
  readonly threadId?: string
  /** Supported subprotocols. The first one that the client offers is chosen. */
  readonly subprotocols?: readonly string[]
  /** `socket` is the underlying connection. Must not throw. */
  open(ws: ServerSocket, socket: Socket): SocketConnection
}

export interface SocketConnection {
  /** Resolves when the connection is closed, by either side. Never rejects. */
  readonly closed: Promise<void>
  /** Closes the connection with a code of RFC 6455, 7.4. May be called twice. */
  close(code: number, reason: string): void
}

export function json(schema: JsonObject, description: string): RouteResponse {
  return { description, content: { 'application/json': schema } }
}

/** A reference to a schema of `openapi.json`. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}
