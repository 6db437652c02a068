import { isObject } from './json.ts'
import { nodeProblem } from './node-version.ts'

// At import: an older Node would fail much later, with an error that does not say why. The check is
// in this file because every entry point uses it. Bundlers would drop a file that is imported only
// for this check, since package.json declares that no file has side effects.
const problem = globalThis.process && nodeProblem(globalThis.process.versions)
if (problem) throw new Error(problem)

/**
 * - `invalid_input`: the caller passed something invalid; thrown before anything streams
 * - `invalid_output`: the model's structured answer does not match its schema
 * - `streaming_not_supported`: the model cannot stream and streaming was required
 * - `stream_interrupted`: the run was canceled
 * - `stream_error`: the provider's stream broke or ended without its terminal event
 * - `empty_answer`: the model ended its answer without text, a tool call or a refusal
 * - `llm_error`: the provider returned an error that has no more specific code
 * - `rate_limit`, `overloaded`, `auth`, `context_overflow`: the provider rejected the request, for
 *   this reason
 * - `timeout`: nothing arrived for too long, or the run's deadline passed
 * - `tool_failed`: a tool failed, and the agent is configured to stop when that happens
 * - `hook_failed`: the caller's own hook (`prepareRound`, …) threw
 * - `not_found`: the thread, or whatever the request names, does not exist
 * - `conflict`: it already exists, or was already decided differently
 * - `store_error`: the log cannot be read or written; the message says why
 * - `internal`: an error inside a server; the details go to the server's `onError`
 * - `workers_lost`: the run was given up because every process that worked on it died
 */
export type ErrorCode =
  | 'invalid_input'
  | 'invalid_output'
  | 'streaming_not_supported'
  | 'stream_interrupted'
  | 'stream_error'
  | 'empty_answer'
  | 'llm_error'
  | 'rate_limit'
  | 'overloaded'
  | 'auth'
  | 'context_overflow'
  | 'timeout'
  | 'tool_failed'
  | 'hook_failed'
  | 'not_found'
  | 'conflict'
  | 'store_error'
  | 'workers_lost'
  | 'internal'

export interface ErrorFields {
  /** The operation that failed: `agent.stream`, `model.stream`, `tool.run`. */
  readonly op: string
  readonly code: ErrorCode
  readonly message: string
  /** Whether the same request may succeed if it is sent again. */
  readonly retryable?: boolean | undefined
  /** The provider's HTTP status. */
  readonly status?: number | undefined
  /** How long the provider asked to wait. */
  readonly retryAfterMs?: number | undefined
  /** The name of the limit or quota that was exceeded. Never sent to clients. */
  readonly limit?: string | undefined
  readonly cause?: unknown
}

/** An error in an event: plain JSON, the cause flattened to its message. */
export interface ErrorJson {
  readonly op: string
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
  readonly status?: number
  readonly retryAfterMs?: number
  readonly cause?: string
}

/** Failures that are retryable by default; other codes are retried only if the error says so. */
const transientCodes: ReadonlySet<ErrorCode> = new Set([
  'stream_error',
  'empty_answer',
  'rate_limit',
  'overloaded',
  'timeout',
])

/** The only error class of this package. */
export class MillraceError extends Error {
  override readonly name = 'MillraceError'
  readonly op: string
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly limit: string | undefined

  constructor(fields: ErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.op = fields.op
    this.code = fields.code
    this.retryable = fields.retryable ?? transientCodes.has(fields.code)
    this.status = fields.status
    this.retryAfterMs = fields.retryAfterMs
    this.limit = fields.limit
  }

  toJSON(): ErrorJson {
    return {
      op: this.op,
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      ...(this.status !== undefined && { status: this.status }),
      ...(this.retryAfterMs !== undefined && { retryAfterMs: this.retryAfterMs }),
      ...(this.cause !== undefined && { cause: messageOf(this.cause) }),
    }
  }

  static fromJSON(json: ErrorJson): MillraceError {
    return new MillraceError(json)
  }
}

/** True for a `MillraceError`, also one from a second copy of this package. */
export function isMillraceError(error: unknown): error is MillraceError {
  return error instanceof Error && error.name === 'MillraceError' && 'code' in error && 'op' in error
}

/**
 * Converts anything thrown to a `MillraceError`. One of this copy of the package is returned as is,
 * one of another copy is converted.
 */
export function toMillraceError(thrown: unknown, fields: { op: string; code: ErrorCode }): MillraceError {
  if (thrown instanceof MillraceError) return thrown
  if (isMillraceError(thrown)) {
    const { op, code, message, retryable, status, retryAfterMs } = thrown as MillraceError
    return new MillraceError({ op, code, message, retryable, status, retryAfterMs, cause: thrown })
  }
  return new MillraceError({ ...fields, message: messageOf(thrown), cause: thrown })
}

/**
 * The message of anything thrown. Never throws, not even for `null` or a `message` getter that
 * throws.
 */
export function messageOf(thrown: unknown): string {
  try {
    if (typeof thrown === 'string') return thrown
    if (isObject(thrown) && typeof thrown.message === 'string')
      return thrown.message || String(thrown.name ?? 'error')
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return 'unknown error'
  }
}

export function invalidInput(op: string, message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op, code: 'invalid_input', message, cause })
}
