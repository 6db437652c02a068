import type { FinishReason } from 'millrace'
import type { ScriptRound } from 'millrace/testing'

/**
 * A place in an answer. Events are the server-sent events as they go out, counted from 0, or from the end with -1; an answer
 * that is not streamed is one event. `byte` counts in the event (0 is before it, -1 before its last byte); `utf8` is inside
 * the first character of several bytes from that event on, `escape` right behind the first backslash.
 */
export type Place =
  | 'before-headers'
  | 'after-headers'
  | { readonly event: number; readonly byte?: number | 'utf8' | 'escape' }

/** How long to wait before the next try: the header in seconds, as a date so many seconds from now, or in `retry-after-ms`. */
export type RetryAfter = { readonly seconds: number } | { readonly date: number } | { readonly ms: number }

/** What goes wrong, as plain JSON. A place that an answer does not have is never reached, and nothing happens. */
export type FaultKind =
  /** The connection is reset when it is opened. */
  | { readonly kind: 'refuse' }
  /** The connection is reset (RST). */
  | { readonly kind: 'reset'; readonly at: Place }
  /** Nothing more comes, and the connection stays open until the client goes. */
  | { readonly kind: 'stall'; readonly at: Place }
  /** The answer ends there, properly as far as HTTP goes. */
  | { readonly kind: 'end'; readonly at: Exclude<Place, 'before-headers'> }
  /** From there on only signs of life, until the client goes: Anthropic's `ping`, comments elsewhere. */
  | { readonly kind: 'pings'; readonly at: Exclude<Place, 'before-headers'>; readonly everyMs?: number }
  /** Bytes are written in pieces of this size, or of these by turns, or all at once. */
  | { readonly kind: 'chunks'; readonly bytes: number | readonly number[] | 'all' }
  | { readonly kind: 'duplicate'; readonly event: number }
  /** This event and the one after it change places. */
  | { readonly kind: 'reorder'; readonly event: number }
  /** Something that no client knows: an event before this one, fields in every event, or a block before the end. */
  | { readonly kind: 'unknown-event'; readonly event: number }
  | { readonly kind: 'unknown-fields' }
  | { readonly kind: 'unknown-block' }
  /** The event gets a field of so many bytes more. */
  | { readonly kind: 'oversize'; readonly event: number; readonly bytes: number }
  /** The event's data is this text, which is not JSON. */
  | { readonly kind: 'malformed'; readonly event: number; readonly data?: string }
  /** Before this event the provider tells of a failure, and ends. */
  | { readonly kind: 'error-frame'; readonly event: number; readonly status?: number }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: RetryAfter }
  /** Status 200 and a web page. */
  | { readonly kind: 'html' }
  | { readonly kind: 'content-type'; readonly type: string }
  /** What the model wrote as the arguments of its n-th call (from 0) is spoiled; the wire closes them all the same. */
  | {
      readonly kind: 'arguments'
      readonly call: number
      readonly how: 'malformed' | 'truncated' | 'empty' | 'double-encoded'
    }
  /** All calls have the id `call_0`, in every round. */
  | { readonly kind: 'same-call-ids' }
  /** The output limit falls into the n-th call. */
  | { readonly kind: 'length-cut'; readonly call: number }
  | { readonly kind: 'no-usage' }
  /** The n-th call is begun and half written, and never closed; the answer still ends with `stop`. */
  | { readonly kind: 'unclosed-call'; readonly call: number }
  /** The answer has no content, only its start and its end. Chat without `finish` is a bare `[DONE]`. */
  | { readonly kind: 'empty'; readonly finish?: FinishReason }
  /**
   * An intermediary lost its upstream and asked again: the stream is cut before this event, and a second, complete answer with
   * fresh ids follows in the same body. `round` is what it says, by default the same round. `start: false` leaves out the
   * events that announce it, so that only an index that opens again shows it.
   */
  | {
      readonly kind: 'splice'
      readonly event: number
      readonly round?: ScriptRound
      readonly start?: boolean
    }
  /** Anthropic: the content stands whole in `message_start`, and only `message_stop` follows. */
  | { readonly kind: 'content-in-start' }
  /** Responses: tools that the provider runs arrive as completed `custom_tool_call` items, several open at once. */
  | { readonly kind: 'custom-provider-calls' }
  /** Responses: the n-th output item has no `response.output_item.done`, and stands only in `response.completed`. */
  | { readonly kind: 'no-item-done'; readonly item: number }
  /** Responses: the background response of this request is forgotten, and a later request for it is a 404. */
  | { readonly kind: 'expired' }
  | ({ readonly kind: 'sse' } & SseDress)

/** Ways to write the same events that the standard allows (and two that it does not: the last two). */
export interface SseDress {
  readonly newline?: 'crlf' | 'cr'
  readonly bom?: boolean
  readonly comments?: boolean
  /** JSON over several `data` lines. */
  readonly dataLines?: boolean
  /** `id` and `retry` beside the data. */
  readonly fields?: boolean
  /** False leaves out every line end after the last event. */
  readonly finalBlank?: boolean
  /** False leaves out Chat's `[DONE]`. */
  readonly done?: boolean
}

/** `request` says which request it befalls, as numbered in `requests`; without it, every one. */
export type Fault = FaultKind & { readonly request?: number }

const breaking: ReadonlySet<Fault['kind']> = new Set([
  'refuse',
  'reset',
  'stall',
  'end',
  'pings',
  'reorder',
  'malformed',
  'error-frame',
  'status',
  'html',
  'content-type',
  'unclosed-call',
  'empty',
  'splice',
  'expired',
])

/** True if the answer does not arrive as it was meant: whoever asks the same again gets the same round again. */
export const isBreaking = ({ kind }: Fault) => breaking.has(kind)
