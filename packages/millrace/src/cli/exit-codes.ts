import type { ErrorCode, Outcome } from '../protocol/index.ts'
import { isMillraceError } from '../protocol/index.ts'

export const exitCodes = {
  ok: 0,
  /** The run failed, or the command did. */
  failed: 1,
  /** Invalid command line, or a thread that does not exist. */
  usage: 2,
  /** The API key is missing or rejected. */
  auth: 3,
  /** The provider's rate, context or output limit, the agent's round limit, or a budget. */
  limit: 4,
  timeout: 5,
  /** A tool call needs approval, or a result from a client, before the run can continue. */
  waiting: 6,
  interrupted: 130,
} as const

const byError: Partial<Record<ErrorCode, number>> = {
  auth: exitCodes.auth,
  rate_limit: exitCodes.limit,
  overloaded: exitCodes.limit,
  context_overflow: exitCodes.limit,
  timeout: exitCodes.timeout,
}

const byOutcome: Record<Outcome, number> = {
  completed: exitCodes.ok,
  'max-rounds': exitCodes.limit,
  budget: exitCodes.limit,
  truncated: exitCodes.limit,
  suspended: exitCodes.waiting,
  canceled: exitCodes.interrupted,
  failed: exitCodes.failed,
}

export function exitOfRun({ outcome, code }: { outcome: Outcome; code?: ErrorCode | undefined }): number {
  return outcome === 'failed' && code ? (byError[code] ?? exitCodes.failed) : byOutcome[outcome]
}

/** The exit code of a command that threw before or instead of a run. */
export function exitOfError(thrown: unknown): number {
  if (!isMillraceError(thrown)) return exitCodes.failed
  const { code } = thrown
  if (code === 'invalid_input' || code === 'not_found') return exitCodes.usage
  return byError[code] ?? exitCodes.failed
}
