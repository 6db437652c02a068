import type { ErrorCode, Outcome } from '../protocol/index.ts'
import { isMillraceError } from '../protocol/index.ts'

/** What a script can tell from how the command ended. */
export const exitCodes = {
  ok: 0,
  /** The run failed, or the command did. */
  failed: 1,
  /** The command line makes no sense: also a thread that is not there. */
  usage: 2,
  /** There is no key, or it is refused. */
  auth: 3,
  /** Somebody's limit: the provider's rate, its context or output, the rounds of the agent. */
  limit: 4,
  timeout: 5,
  /** A person has to decide before it goes on. */
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
  truncated: exitCodes.limit,
  suspended: exitCodes.waiting,
  cancelled: exitCodes.interrupted,
  failed: exitCodes.failed,
}

/** How a run came out. */
export function exitOfRun({ outcome, code }: { outcome: Outcome; code?: ErrorCode | undefined }): number {
  return outcome === 'failed' && code ? (byError[code] ?? exitCodes.failed) : byOutcome[outcome]
}

/** What was thrown instead of a run. */
export function exitOfError(thrown: unknown): number {
  if (!isMillraceError(thrown)) return exitCodes.failed
  const { code } = thrown
  if (code === 'invalid_input' || code === 'not_found') return exitCodes.usage
  return byError[code] ?? exitCodes.failed
}
