import { agentDefaults } from '../../agent/index.ts'
import type { Code } from './code.ts'
import { literal } from './code.ts'
import type { LoggedRun } from './log.ts'
import type { PlannedRound } from './plan.ts'
import { closedCalls } from './stubs.ts'

const { maxRounds: usualRounds, toolConcurrency, maxCallsPerRound, repeatLimits } = agentDefaults

/** The options that an agent needs to go the way that the log tells: to send again as often, to run as many calls. */
export function optionsFor(
  runs: readonly LoggedRun[],
  rounds: readonly PlannedRound[],
): Readonly<Record<string, Code | undefined>> {
  const failures = mostFailures(rounds)
  const kept = runs.map((run) => run.rounds.filter(({ retracted }) => !retracted).map(closedCalls))
  const maxRounds = Math.max(...kept.map((calls) => calls.filter(({ length }) => length > 0).length))
  const most = Math.max(0, ...kept.flat().map(({ length }) => length))
  const isTooLong = rounds.some(({ steps }) =>
    steps.some((step) => 'error' in step && Object(step.error).code === 'context_overflow'),
  )
  return {
    retry: failures > 0 ? literal({ attempts: failures + 1, baseMs: 0 }) : undefined,
    maxRounds: maxRounds > usualRounds ? literal(maxRounds) : undefined,
    toolConcurrency: most > toolConcurrency ? literal(most) : undefined,
    maxCallsPerRound: most > maxCallsPerRound ? literal(most) : undefined,
    repeatLimits: kept.some((calls) => mostRepeats(calls.flat()) >= repeatLimits.refuse)
      ? 'false'
      : undefined,
    // Nobody reads the conversation, so it need not become shorter.
    shorten: isTooLong ? 'false' : undefined,
  }
}

/** How many requests in a row failed at most. */
function mostFailures(rounds: readonly PlannedRound[]): number {
  let [most, row] = [0, 0]
  for (const { steps } of rounds) {
    row = steps.some((step) => 'error' in step) ? row + 1 : 0
    most = Math.max(most, row)
  }
  return most
}

function mostRepeats(calls: ReturnType<typeof closedCalls>): number {
  const times = new Map<string, number>()
  for (const { call } of calls) {
    const key = JSON.stringify([call.name, call.input])
    times.set(key, (times.get(key) ?? 0) + 1)
  }
  return Math.max(0, ...times.values())
}
