import type { EventFeed, Fields } from '../channels/index.ts'
import type { JsonObject } from '../protocol/index.ts'
import type { Visitor } from './visitors.ts'

/** What a server that has the connection in its hands lends to whoever answers. */
export interface Connection {
  /** The address that the client has reached. */
  readonly localAddress: string | undefined
  /** The address that the client counts for: see `addressOf`. */
  readonly address: string | undefined
  /** Aborted when the client has gone, and when it has been answered. */
  readonly gone: AbortSignal
  /** The body of the request. Throws 413 past `most`. */
  readBody(most: number): Promise<Uint8Array<ArrayBuffer>>
  /** Takes a function that is told how many bytes the answer has, and when it is sent the same number below zero. */
  countAnswer(count: (bytes: number) => void): void
  /** Takes a feed to write behind the head of the answer, without a web stream between. */
  takeFeed(feed: EventFeed): void
}

/** A request that was found to be in order. */
export interface Call {
  readonly request: Request
  readonly visitor: Visitor
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  readonly connection: Connection | undefined
}

export interface RouteAnswer {
  readonly description: string
  /** By media type. Nothing has no body. */
  readonly content?: Readonly<Record<string, JsonObject>>
}

/** One line of what the server does: the handler and `openapi.json` are both made of it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** The name of the operation. */
  readonly name: string
  readonly summary: string
  /** For everybody, whoever they are. */
  readonly isPublic?: boolean
  readonly query?: Fields
  readonly headers?: Fields
  readonly body?: Fields
  /** What it answers with when all is well. */
  readonly answers: Readonly<Record<number, RouteAnswer>>
  readonly handle: (call: Call) => Response | Promise<Response>
}

export function json(schema: JsonObject, description: string): RouteAnswer {
  return { description, content: { 'application/json': schema } }
}
