import { isObject } from './json.ts'
import { nodeProblem } from './node-version.ts'

// At import: an older Node fails much later, with an error that does not say why. The check is in this file because every entry point
// uses it. Bundlers would drop a file that is imported only for this, since package.json declares that no file has side effects.
const problem = globalThis.process && nodeProblem(globalThis.process.versions)
if (problem) throw new Error(problem)

/**
 * - `invalid_input`: what the caller handed in cannot be used; thrown before anything streams
 * - `invalid_output`: the model's structured answer does not fit its schema
 * - `streaming_not_supported`: the model cannot stream and streaming was required
 * - `stream_interrupted`: the run was cancelled
 * - `stream_error`: the provider's stream broke or ended without its terminal event
 * - `empty_answer`: the model ended its answer without a word, a call or a refusal
 * - `llm_error`: the provider answered with a failure that has no finer code
 * - `rate_limit`, `overloaded`, `auth`, `context_overflow`: the provider refused, and why
 * - `timeout`: nothing came for too long, or the run's deadline passed
 * - `tool_failed`: a tool failed and the agent was told to stop at that
 * - `hook_failed`: the caller's own hook (`prepareRound`, …) threw
 * - `not_found`: there is no such thread
 * - `conflict`: it was decided otherwise already, or exists
 * - `store_error`: the log cannot be read or written, and why
 * - `internal`: something went wrong in a server, whose owner was told what
 * - `workers_lost`: the run was given up, since every process that worked on it died
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
  /** What was being done, as `room.verb`: `agent.stream`, `model.stream`, `tool.run`. */
  readonly op: string
  readonly code: ErrorCode
  readonly message: string
  /** The same request may succeed if it is sent again. */
  readonly retryable?: boolean | undefined
  /** The provider's HTTP status. */
  readonly status?: number | undefined
  /** How long the provider asked to wait. */
  readonly retryAfterMs?: number | undefined
  /** The limit or quota that refused it, by the name of its option. Stays in this process. */
  readonly limit?: string | undefined
  readonly cause?: unknown
}

/** An error as it stands in an event: plain JSON, causes flattened to their messages. */
export interface ErrorJson {
  readonly op: string
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
  readonly status?: number
  readonly retryAfterMs?: number
  readonly cause?: string
}

/** Codes of failures that pass by themselves; an error of another code is retried only if it says so. */
const passing: ReadonlySet<ErrorCode> = new Set([
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
    this.retryable = fields.retryable ?? passing.has(fields.code)
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

/** True for our error, also when it comes from a second copy of this package. */
export function isMillraceError(error: unknown): error is MillraceError {
  return error instanceof Error && error.name === 'MillraceError' && 'code' in error && 'op' in error
}

/** Makes anything thrown into our error; one that is ours already stays as it is, one of another copy is made anew. */
export function toMillraceError(thrown: unknown, fields: { op: string; code: ErrorCode }): MillraceError {
  if (thrown instanceof MillraceError) return thrown
  if (isMillraceError(thrown)) {
    const { op, code, message, retryable, status, retryAfterMs } = thrown as MillraceError
    return new MillraceError({ op, code, message, retryable, status, retryAfterMs, cause: thrown })
  }
  return new MillraceError({ ...fields, message: messageOf(thrown), cause: thrown })
}

/** The sentence in anything thrown. Total: also for `throw null`, or for an error whose `message` is a throwing getter. */
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
