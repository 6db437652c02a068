import type { ErrorJson, MillraceError } from './errors.ts'
import type { DoneEvent } from './events.ts'
import type { Model, ModelRequest, WireListener } from './model.ts'

/** One HTTP request to a provider and its response, as sent over the wire, without secrets. */
export interface WireExchange {
  /** API keys in the query are removed. */
  readonly url: string
  /** Secret values are replaced by `[key]`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Absent until the response starts. */
  readonly status?: number
  readonly responseHeaders?: Readonly<Record<string, string>>
  /** The body as received so far. */
  readonly response?: string
  /** The request or response body was cut because it exceeds the limit. */
  readonly cut?: boolean
}

/** One model call of a run: one attempt at a round. */
export interface Exchange {
  readonly runId: string
  readonly round: number
  /** Counted from 1 in each round of a run. */
  readonly attempt: number
  /** The model's id, such as `gpt-5`. */
  readonly model: string
  readonly provider: string
  /** When it started, in milliseconds since the Unix epoch. */
  readonly at: number
  /** How long it took; absent while it is in progress. */
  readonly ms?: number
  /** The names of the tools offered to the model. */
  readonly tools: readonly string[]
  /** The request, without headers, if no HTTP traffic was observed. */
  readonly request?: ModelRequest
  /** `request` was cut because it exceeds the limit. */
  readonly cut?: boolean
  /** More than one if the provider needed further requests to finish its answer. */
  readonly wire: readonly WireExchange[]
  readonly error?: ErrorJson
}

/** Which exchanges to read. */
export interface ExchangesOptions {
  readonly run: string
  /** All rounds if absent. */
  readonly round?: number | undefined
}

export interface ExchangePageOptions extends ExchangesOptions {
  /** Only rounds after this one: the `next` of the previous page. */
  readonly after?: number | undefined
  /** The approximate maximum size of a page; a round is never split. */
  readonly bytes?: number | undefined
}

export interface ExchangePage {
  readonly exchanges: readonly Exchange[]
  /** The last round of this page, if more follow. */
  readonly next?: number
}

/** A model call that is about to be made. */
export interface ModelCall extends Pick<Exchange, 'runId' | 'round' | 'attempt'> {
  readonly model: Model
  readonly request: ModelRequest
  /**
   * Not a round of the run but an extra request, such as for a summary. `attempt` counts its own
   * attempts.
   */
  readonly aside?: boolean
}

/** Called before each model call of a run. Its exceptions are swallowed. */
export type ObserveCall = (call: ModelCall) => CallObserver

/** How a model call ended. */
export type CallEnd =
  | { readonly done: DoneEvent; readonly error?: undefined }
  | { readonly done?: undefined; readonly error: MillraceError }

export interface CallObserver {
  /** Present if it wants to see the wire traffic, which has a small cost. */
  readonly wire?: WireListener | undefined
  /** Added to the request, unless the caller set a header of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Runs `work`, which makes the call, in the trace context of this call. Calls it once,
   * immediately, and returns its result.
   */
  runInContext?<Value>(work: () => Value): Value
  /** Called for each read from the socket, however many events it contains. */
  received?(): void
  /** The call has ended. `wire` may still be called after that. */
  end(end: CallEnd): void
}
