import { agentDefaults } from '../../agent/index.ts'
import type { Code } from './code.ts'
import { literal } from './code.ts'
import type { LoggedRun } from './log.ts'
import { closedCalls } from './log.ts'
import type { PlannedRound } from './plan.ts'

const { maxRounds: usualRounds, toolConcurrency, maxCallsPerRound, repeatLimits } = agentDefaults

/** The options that an agent needs to do what the log says: to send again as often, to run as many calls. */
export function optionsFor(
  runs: readonly LoggedRun[],
  rounds: readonly PlannedRound[],
): Readonly<Record<string, Code | undefined>> {
  const kept = runs.map(({ attempts }) => attempts.filter(({ round }) => !round.retracted).map(closedCalls))
  const maxRounds = Math.max(...kept.map((calls) => calls.filter(({ length }) => length > 0).length))
  const most = Math.max(0, ...kept.flat().map(({ length }) => length))
  const repeated = kept.flatMap((calls) => {
    const same = Map.groupBy(calls.flat(), ({ name, input }) => JSON.stringify([name, input]))
    return [...same.values()].filter(({ length }) => length >= repeatLimits.refuse)
  })
  let [failures, inRow, isTooLong] = [0, 0, false]
  for (const { steps } of rounds) {
    const failed = steps.find((step) => 'error' in step)
    inRow = failed ? inRow + 1 : 0
    failures = Math.max(failures, inRow)
    isTooLong ||= Object(failed?.error).code === 'context_overflow'
  }
  return {
    retry: failures > 0 ? literal({ attempts: failures + 1, baseMs: 0 }) : undefined,
    maxRounds: maxRounds > usualRounds ? literal(maxRounds) : undefined,
    toolConcurrency: most > toolConcurrency ? literal(most) : undefined,
    maxCallsPerRound: most > maxCallsPerRound ? literal(most) : undefined,
    repeatLimits: repeated.length > 0 ? 'false' : undefined,
    // No model reads the conversation, so it need not become shorter.
    shorten: isTooLong ? 'false' : undefined,
  }
}
