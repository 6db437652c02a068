import type { Socket } from 'node:net'
import type {
  Entry,
  FollowOptions,
  JsonObject,
  PublicError,
  ThreadInfo,
  ThreadPage,
} from '../protocol/index.ts'
import type { Thread, ThreadsOptions } from '../threads/index.ts'
import type { Fields } from './fields.ts'

/**
 * A wire protocol that clients speak: how its requests become commands on threads, and how the log of a thread becomes its frames.
 * All protocols of a server speak to the same threads at the same time.
 *
 * What it does not do: the server checks host and origin, signs callers in, counts requests and bytes, limits streams, ends
 * them when access is taken back, and watches for clients that do not read. Threads are reached only through `call.caller`, which shows
 * a caller nothing that is not theirs and no inner detail.
 */
export interface Protocol {
  /** No two of a server have the same. */
  readonly name: string
  /** Called once, before the server answers anything. Throws `invalid_input` for options that do not fit the host. */
  mount(host: ProtocolHost): MountedProtocol
}

/** What a server lends to its protocols. */
export interface ProtocolHost {
  /** By name; the first is the default. */
  readonly agents: readonly string[]
  readonly limits: {
    readonly [Name in 'bodyBytes' | 'frameBytes' | 'framesPerSecond' | 'streams' | 'answerBytes']: number
  }
  readonly heartbeatMs: number
  readonly stuckMs: number
  /** What a client may be told of an error. What the client did not cause is reported to the owner, under the id that it gives. */
  publicError(thrown: unknown): PublicError
  /** Reports to the owner what the client did not cause, under an id that the client was given. */
  onError(thrown: unknown, id: string): void
}

export interface MountedProtocol {
  /** Of all routes of a server the first that matches answers. */
  readonly routes: readonly Route[]
  /** Below these paths errors have the shape of `error` also where no route matches: `['/v1']`. */
  readonly prefixes?: readonly string[]
  /**
   * An error in the shape of this protocol: for all that its routes throw, and for what the server itself refuses (401, 403, 404, 405,
   * 413, 429, 503). The server adds `www-authenticate` and `retry-after`. If absent it is `{ "error": { code, message } }`.
   */
  error?(error: HttpError): Response
  /** Loads what it needs. `listen()` waits for it, and rejects if it does. */
  ready?(): Promise<void>
  /** Ends what is open. Called once; runs go on. */
  close?(): Promise<void>
}

export interface HttpError extends PublicError {
  readonly status: number
}

/** A request that the server takes. With a `name` it is part of `openapi.json`. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `:name` is one segment, and `*` at the end everything that follows: `/v1/threads/:id`, `/files/*`. */
  readonly path: string
  /** The id of the operation. */
  readonly name?: string
  readonly summary?: string
  /** What it answers with when all is well; `default` is the shape of errors. */
  readonly answers?: Readonly<Record<number | 'default', RouteAnswer> | Record<number, RouteAnswer>>
  /** Open to everyone, without sign-in or limits. */
  readonly isPublic?: boolean
  readonly query?: Fields
  readonly headers?: Fields
  /** A JSON body with these fields and no others. Without it the body is left to `handle`. */
  readonly body?: Fields
  /** The largest body; `limits.bodyBytes` if absent. */
  readonly bodyBytes?: number
  /** Answers a request. What it throws becomes an error response. */
  readonly handle?: (call: Call) => Response | Promise<Response>
  /** Takes a WebSocket. What it throws refuses the upgrade. */
  readonly connect?: (call: SocketCall) => Promise<SocketHandler>
}

export interface RouteAnswer {
  readonly description: string
  /** By media type. Without it there is no body. */
  readonly content?: Readonly<Record<string, JsonObject>>
}

/** A request whose sender is known and whose declared fields are in order. */
export interface Call {
  readonly request: Request
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  /** Aborted when the client has gone, and when it has been answered. */
  readonly signal: AbortSignal
  /** Rejects with 413 past the limit of the route. To be called once. */
  readBody(): Promise<Uint8Array<ArrayBuffer>>
  /** The body as JSON, whatever is in it. Rejects with 400, 413 or 415. */
  readJson(): Promise<unknown>
  /**
   * Takes a place among the open streams. Throws 429 if the caller has too many, 503 if the server has. Taken before a message is sent,
   * it makes sure that a request which is refused has done nothing. One that no response was made from is freed by itself.
   */
  openStream(): StreamPlace
}

/** A request for a WebSocket. */
export type SocketCall = Pick<Call, 'request' | 'caller' | 'params' | 'query' | 'headers'>

/** Who sent a request. What others own is not there for them. */
export interface Caller {
  /** Undefined where nobody signs in. */
  readonly user: string | undefined
  /** Whom quotas and limits count for: the user, or else `address:` and the address. Undefined if neither is known. */
  readonly key: string | undefined
  /** Whether they may see what goes to models. */
  readonly inspects: boolean
  canSee(thread: ThreadInfo): Promise<boolean>
  /** Rejects with the same 404 whether the thread does not exist or is not theirs to see. */
  getThread(threadId: string): Promise<FoundThread>
  /** Begins a thread in their name. Rejects with `conflict` if the id is taken. */
  createThread(options: NewThreadOptions): Promise<FoundThread>
  listThreads(options: ThreadsOptions): Promise<ThreadPage>
  /** Throws 429 if they have asked for too much lately. The request itself has been counted. */
  rateLimit(): void
}

export interface FoundThread {
  readonly thread: Thread
  readonly info: ThreadInfo
}

export interface NewThreadOptions {
  /** 1 to 128 letters, digits, `_`, `-` or `.`. All threads share one namespace, so one that can be guessed tells others that it is taken. */
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly metadata?: JsonObject | undefined
}

export interface StreamPlace {
  /** Aborted when the stream must end: the client or the server goes away, or access has ended. The reason is an error that says so. */
  readonly signal: AbortSignal
  /** A response that goes on as the thread does, at the client's pace, and frees the place when it ends. */
  follow(thread: Thread, from: Pick<FollowOptions, 'after' | 'until'>, frames: Frames): Response
  /**
   * Any other response: as it comes if it is `text/event-stream`, in one piece otherwise. The place is free when its body ends. When the server
   * closes, it is for the protocol's `close` to end it.
   */
  hold(response: Response): Response
}

export type Frame = string | Uint8Array

/** How one response writes the log of a thread. Called in order, for one response only, so it may hold the state of that. */
export interface Frames {
  /** `content-type` at least. */
  readonly headers: Readonly<Record<string, string>>
  /** Goes out first, at once. */
  open?(): Frame
  /** Nothing if it has no form here. */
  entry(entry: Entry): Frame | undefined
  /** Asked after each entry. `true` ends the response there, wherever `until` is. */
  isOver?(): boolean
  /** The thread has come to `until`, or it is over. */
  end?(): Frame
  /** It breaks off: the log cannot be read, the server goes away, or access has ended. */
  fail?(error: PublicError): Frame
  /** Sent when there was nothing else for `heartbeatMs`. If absent nothing is. */
  readonly heartbeat?: Frame
}

/** The server's end of a WebSocket, as the package `ws` makes it. */
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
  /** The thread that it is about, if it is about one: when the caller may no longer see that, the socket is closed. */
  readonly threadId?: string
  /** Those that it speaks. The first that the client offers is chosen. */
  readonly subprotocols?: readonly string[]
  /** `socket` is the connection below. Must not throw. */
  open(ws: ServerSocket, socket: Socket): SocketConnection
}

export interface SocketConnection {
  /** Resolves when the connection is closed, by either side. Never rejects. */
  readonly closed: Promise<void>
  /** Closes it with a code of RFC 6455 §7.4. May be called twice. */
  close(code: number, reason: string): void
}

export function json(schema: JsonObject, description: string): RouteAnswer {
  return { description, content: { 'application/json': schema } }
}

/** A schema of `openapi.json`, by its name. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}
