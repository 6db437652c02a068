import type { FinishReason } from 'millrace'
import type { ScriptRound } from 'millrace/testing'

/**
 * A point in a response. Events are the server-sent events, counted from 0, or from the end with
 * -1. A response that is not streamed is one event. `byte` counts within the event (0 is before it,
 * -1 before its last byte); `utf8` is inside the first multi-byte character from that event on,
 * `escape` right after the first backslash.
 */
export type FaultPoint =
  | 'before-headers'
  | 'after-headers'
  | { readonly event: number; readonly byte?: number | 'utf8' | 'escape' }

/** `retry-after` in seconds, as a date this many seconds from now, or `retry-after-ms`. */
export type RetryAfter = { readonly seconds: number } | { readonly date: number } | { readonly ms: number }

/** A fault, as plain JSON. A fault at a point that the response does not have has no effect. */
export type FaultKind =
  /** The connection is reset when it is opened. */
  | { readonly kind: 'refuse' }
  /** The connection is reset (RST). */
  | { readonly kind: 'reset'; readonly at: FaultPoint }
  /** Nothing more is sent, and the connection stays open until the client closes it. */
  | { readonly kind: 'stall'; readonly at: FaultPoint }
  /** The response ends there, correctly as far as HTTP is concerned. */
  | { readonly kind: 'end'; readonly at: Exclude<FaultPoint, 'before-headers'> }
  /**
   * From there on only keep-alives, until the client disconnects: `ping` for Anthropic, comments
   * elsewhere.
   */
  | { readonly kind: 'pings'; readonly at: Exclude<FaultPoint, 'before-headers'>; readonly everyMs?: number }
  /** Bytes are written in chunks of this size, of these sizes in turn, or all at once. */
  | { readonly kind: 'chunks'; readonly bytes: number | readonly number[] | 'all' }
  | { readonly kind: 'duplicate'; readonly event: number }
  /** This event and the next one are swapped. */
  | { readonly kind: 'reorder'; readonly event: number }
  /**
   * Something unknown to clients: an event before this one, fields in every event, or a block
   * before the end.
   */
  | { readonly kind: 'unknown-event'; readonly event: number }
  | { readonly kind: 'unknown-fields' }
  | { readonly kind: 'unknown-block' }
  /** The event gets an additional field of this many bytes. */
  | { readonly kind: 'oversize'; readonly event: number; readonly bytes: number }
  /** The data of the event is replaced by this text, which is not JSON. */
  | { readonly kind: 'malformed'; readonly event: number; readonly data?: string }
  /** Before this event the provider reports an error and ends the stream. */
  | { readonly kind: 'error-frame'; readonly event: number; readonly status?: number }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: RetryAfter }
  /** Status 200 with a web page. */
  | { readonly kind: 'html' }
  | { readonly kind: 'content-type'; readonly type: string }
  /** The arguments of the n-th tool call (from 0) are corrupted, but closed as usual. */
  | {
      readonly kind: 'arguments'
      readonly call: number
      readonly how: 'malformed' | 'truncated' | 'empty' | 'double-encoded'
    }
  /** All tool calls have the id `call_0`, in every round. */
  | { readonly kind: 'same-call-ids' }
  /** The output limit is reached within the n-th tool call. */
  | { readonly kind: 'length-cut'; readonly call: number }
  | { readonly kind: 'no-usage' }
  /** The n-th tool call is half written and never closed; the response still ends with `stop`. */
  | { readonly kind: 'unclosed-call'; readonly call: number }
  /**
   * The response has no content, only its start and end. For Chat without `finish`, only `[DONE]`.
   */
  | { readonly kind: 'empty'; readonly finish?: FinishReason }
  /**
   * An intermediary lost its upstream and retried: the stream is cut before this event, and a
   * second, complete response with new ids follows in the same body. `round` is its content, by
   * default the same round. `start: false` omits its start events, so that only a reopened index
   * reveals it.
   */
  | {
      readonly kind: 'splice'
      readonly event: number
      readonly round?: ScriptRound
      readonly start?: boolean
    }
  /** Anthropic: all content is in `message_start`, and only `message_stop` follows. */
  | { readonly kind: 'content-in-start' }
  /**
   * Responses: provider tool calls arrive as completed `custom_tool_call` items, several open at
   * once.
   */
  | { readonly kind: 'custom-provider-calls' }
  /**
   * Responses: the n-th output item has no `response.output_item.done`, and is only in
   * `response.completed`.
   */
  | { readonly kind: 'no-item-done'; readonly item: number }
  /**
   * Responses: the background response of this request is not stored; later requests for it get a
   * 404.
   */
  | { readonly kind: 'expired' }
  | ({ readonly kind: 'sse' } & SseFraming)

/** Other framings of the same events that the standard allows, except for the last two. */
export interface SseFraming {
  readonly newline?: 'crlf' | 'cr'
  readonly bom?: boolean
  readonly comments?: boolean
  /** JSON over several `data` lines. */
  readonly dataLines?: boolean
  /** Adds `id` and `retry` fields. */
  readonly fields?: boolean
  /** False omits the line ends after the last event. */
  readonly finalBlank?: boolean
  /** False omits `[DONE]` in Chat. */
  readonly done?: boolean
}

/** `request` is the index in `requests` of the affected request; without it, all are affected. */
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

/** True if the response does not arrive as intended, so that a retry gets the same round again. */
export const isBreaking = ({ kind }: Fault) => breaking.has(kind)
