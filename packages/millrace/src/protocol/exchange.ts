import type { ErrorJson, MillraceError } from './errors.ts'
import type { DoneEvent } from './events.ts'
import type { Model, ModelRequest, WireListener } from './model.ts'

/** One request to a provider and its answer, as they went over the wire, without secrets. */
export interface WireExchange {
  /** Keys in its query are taken out. */
  readonly url: string
  /** The value of one that is a secret is `[key]`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Absent as long as nothing was answered. */
  readonly status?: number
  readonly answerHeaders?: Readonly<Record<string, string>>
  /** As far as it has come. */
  readonly answer?: string
  /** The body or the answer were longer than is kept. */
  readonly cut?: boolean
}

/** One model call of a run: a round, and which try of it. */
export interface Exchange {
  readonly runId: string
  readonly round: number
  /** Counted from 1 in each round of a run. */
  readonly attempt: number
  /** Its name as people know it. */
  readonly model: string
  readonly provider: string
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  /** How long it took; absent while it goes on. */
  readonly ms?: number
  /** The names of the tools that the model was offered. */
  readonly tools: readonly string[]
  /** What the model was asked, where nothing went over a wire that we know of; without headers. */
  readonly request?: ModelRequest
  /** The request was longer than is kept. */
  readonly cut?: boolean
  /** More than one where the provider wanted an answer to be gone on with. */
  readonly wire: readonly WireExchange[]
  readonly error?: ErrorJson
}

/** Which of them somebody wants to see. */
export interface ExchangesOptions {
  readonly run: string
  /** All rounds if absent. */
  readonly round?: number | undefined
}

export interface ExchangePageOptions extends ExchangesOptions {
  /** Only rounds after this one: the `next` of the page before. */
  readonly after?: number | undefined
  /** About how many bytes a page has at most; one round is never split. */
  readonly bytes?: number | undefined
}

export interface ExchangePage {
  readonly exchanges: readonly Exchange[]
  /** The last round of this page, if there are more. */
  readonly next?: number
}

/** A model call that is about to be made. */
export interface ModelCall extends Pick<Exchange, 'runId' | 'round' | 'attempt'> {
  readonly model: Model
  readonly request: ModelRequest
  /** No round of the run, but a question asked beside it, such as for a summary. `attempt` then counts those of the question. */
  readonly aside?: boolean
}

/** Told of each model call of a run before it is made. What it throws is nobody's business but its own. */
export type ObserveCall = (call: ModelCall) => CallObserver

/** How a model call came out. */
export type CallEnd =
  | { readonly done: DoneEvent; readonly error?: undefined }
  | { readonly done?: undefined; readonly error: MillraceError }

export interface CallObserver {
  /** There if it wants to know what goes over the wire, which costs a little. */
  readonly wire?: WireListener | undefined
  /** Sent along with the request, where the caller has set none of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Makes the call: what is measured inside becomes a part of it. Calls `work` once, at once, and gives what it gives. */
  within?<Value>(work: () => Value): Value
  /** Something has come from the model: one read of a socket, however many events were in it. */
  received?(): void
  /** The call is over; the wire may have a last word after that. */
  end(end: CallEnd): void
}
