import type { Message, Outcome, ScriptStep, UserMessage } from '../../protocol/index.ts'
import type { CallView, RunView } from '../../view/index.ts'
import type { Code } from './code.ts'
import { call as callCode, list, literal } from './code.ts'
import type { Attempt, LoggedRun } from './log.ts'
import { closedCalls, endSteps, failedStep, isCutOff, outputSteps, weightOf } from './log.ts'
import type { Stubs } from './stubs.ts'
import {
  addCall,
  addDecided,
  decisionCode,
  decisionOf,
  isRunHere,
  requestOf,
  stubsFor,
  waitsInside,
} from './stubs.ts'

/** A round of the script, and what happens while it is generated. */
export interface PlannedRound {
  readonly steps: readonly ScriptStep[]
  readonly comment: string | undefined
  readonly steers: UserMessage[]
  /** Why the run is canceled as soon as this round is requested. */
  readonly cancels: string | undefined
}

/** One leg: a run is started or resumed, perhaps canceled, and ends with an outcome. */
export interface PlannedLeg {
  readonly start: Code
  readonly outcome: Outcome
  /** The text at the end of the run, and its error code. */
  readonly text?: string
  readonly code?: string | undefined
  /** Right away (0), or when this much was emitted. */
  readonly cancel?: { readonly reason: string; readonly after: number } | undefined
}

export interface Plan {
  readonly stubs: Stubs
  readonly rounds: PlannedRound[]
  readonly legs: PlannedLeg[]
}

/** Everything a test has to do so that an agent repeats the log. */
export function planTest(runs: readonly LoggedRun[]): Plan {
  const plan: Plan = { stubs: stubsFor(runs), rounds: [], legs: [] }
  for (const run of runs) planRun(run, plan)
  return plan
}

function planRun({ run, messages: given, attempts }: LoggedRun, { stubs, rounds, legs }: Plan): void {
  const replayed = attempts.filter((attempt) => !isLost(attempt))
  const ending = endingOf(run, replayed.at(-1))
  const reason = (run.outcome && run.error?.message) ?? 'the run had not ended when this was recorded'
  const failure = failedStep(run.error, false)
  const messages = [...given]
  let start = () => streamCode(messages, maxRoundsOf(run, replayed), legs.length === 0)
  /** Characters and events emitted in the current leg. */
  let emitted = 0
  /** The last round of the current leg. */
  let current: PlannedRound | undefined
  /**
   * Inputs that the next round is the first to read were sent while the previous one was generated.
   */
  let pendingInputs: Message[] = messages
  let text = ''

  function resume(decisions: readonly Code[]) {
    legs.push({ start: start(), outcome: 'suspended' })
    const [only = '', ...more] = decisions
    start = () => callCode('run.resume', more.length === 0 ? only : list(decisions))
    emitted = 0
    current = undefined
  }

  function addRound(steps: readonly ScriptStep[], comment?: string) {
    // A run that is canceled before any output is canceled when this round is requested.
    const cancels = steps[0] && 'hang' in steps[0] ? reason : undefined
    const steers: UserMessage[] = []
    current = { steps, comment, steers, cancels }
    rounds.push(current)
    pendingInputs = steers
    for (const step of steps) emitted += weightOf(step)
    text = steps.map((step) => ('text' in step ? step.text : '')).join('')
  }

  function planAttempt(attempt: Attempt, comment: string | undefined) {
    const isLast = attempt === replayed.at(-1)
    const calls = sortCalls(attempt, isLast ? ending : 'normal')
    const output = outputSteps(attempt)
    const last = lastSteps()
    addRound([...output, ...last], comment)
    // When a model finishes a round, its unclosed calls get results too. The last of too many
    // rounds may not run tools.
    const isDone = isGenerated(attempt) && !last.some((step) => 'hang' in step || 'error' in step)
    const isBlocked = isLast && run.outcome === 'max-rounds'
    for (const call of attempt.round.retracted ? [] : closedCalls(attempt)) {
      const [asks, hangs] = [calls.asking.includes(call), calls.hanging.includes(call)]
      if (isDone || !isCutOff(call)) emitted += addCall(stubs, call, { asks, hangs, isBlocked })
    }
    if (calls.isStop) decide(calls, { isLast, isEnd: endsRun(attempt) })

    function lastSteps(): readonly ScriptStep[] {
      const isEnded = isLast && !calls.isStop
      if (isEnded && ending === 'failed') return [failure]
      if (isEnded && ending === 'canceled' && !(isGenerated(attempt) && calls.hanging.length > 0))
        return [{ hang: true }]
      if (isGenerated(attempt)) return endSteps(attempt, output)
      return [failedStep(attempt.failure ?? attempt.round.end?.error, true)]
    }
  }

  /** The run waits for a decision here and is resumed, or it was ended before. */
  function decide({ decided, undecided, hanging }: SortedCalls, { isLast = false, isEnd = false }) {
    const isCanceled = isLast && ending === 'canceled'
    if (decided.length > 0) {
      resume(decided.map((call) => decisionCode(call, stubs)))
      // With all of them answered, the run would end before it can be canceled.
      const isTooLate = isEnd && undecided.length === 0 && hanging.length === 0
      const hasActed = decided.some((call) => isRunHere(call) || call.result?.status !== 'canceled')
      if (isCanceled && (isTooLate || !hasActed)) return
      for (const call of decided) emitted += addDecided(stubs, call, hanging.includes(call))
    }
    if (isLast && ending === 'failed') addRound([failure])
    if (!isCanceled || hanging.length > 0) return
    const [open] = undecided
    if (open) resume([literal({ callId: open.callId, approved: false, reason })])
    else addRound([{ hang: true }])
  }

  for (const [index, attempt] of attempts.entries()) {
    pendingInputs.push(...attempt.inputs)
    if (!isLost(attempt)) planAttempt(attempt, commentOn(attempt, attempts[index - 1]))
  }
  if (replayed.length === 0 && ending === 'failed') addRound([failure])
  const isCanceled = ending === 'canceled' && !current?.cancels
  legs.push({
    start: start(),
    outcome: run.outcome ?? (ending === 'suspended' ? 'suspended' : 'canceled'),
    text,
    code: ending === 'failed' ? run.error?.code : undefined,
    cancel: isCanceled ? { reason, after: emitted } : undefined,
  })
}

function commentOn({ isSummarized }: Attempt, before: Attempt | undefined): string | undefined {
  if (before && isLost(before))
    return 'A process was lost while it generated this, and another one generated it again.'
  return isSummarized ? 'The conversation was summarized here, which a script does not need.' : undefined
}

/**
 * How a run ends: by what its model and tools do, or because it is canceled, fails or is suspended.
 */
type Ending = 'canceled' | 'failed' | 'suspended' | 'normal'

function endingOf({ outcome }: RunView, last: Attempt | undefined): Ending {
  if (outcome === 'canceled' || outcome === 'failed' || outcome === 'suspended') return outcome
  if (outcome !== undefined) return 'normal'
  const open = last && isGenerated(last) ? closedCalls(last).filter(({ result }) => !result) : []
  const waits = open.length > 0 && open.every((call) => requestOf(call) && !isRunHere(call))
  return waits ? 'suspended' : 'canceled'
}

type SortedCalls = ReturnType<typeof sortCalls>

/**
 * Sorts calls: those that wait for a decision, those decided, and those that run until the run is
 * canceled.
 */
function sortCalls(attempt: Attempt, ending: Ending) {
  const calls = closedCalls(attempt)
  // Only the result of a sub-agent is replayed. If the run still waits for a call inside it, it
  // waits for the whole call.
  const asking = calls.filter((call) => requestOf(call) || (ending === 'suspended' && waitsInside(call)))
  const decided = asking.filter((call) => decisionOf(call) && (isRunHere(call) || call.result))
  const undecided = asking.filter((call) => !decided.includes(call))
  const hanging = ending === 'canceled' ? calls.filter(isUnfinished) : []
  const stops = {
    normal: true,
    suspended: true,
    canceled: isGenerated(attempt) && hanging.every((call) => asking.includes(call)),
    failed: isGenerated(attempt) && undecided.length === 0 && !endsRun(attempt),
  }
  /** The run is suspended when the rest of the round is done. */
  const isStop = asking.length > 0 && !attempt.failure && stops[ending]
  return { asking, decided, undecided, hanging, isStop }
}

function isUnfinished(call: CallView): boolean {
  const { status = 'canceled' } = call.result ?? {}
  return isRunHere(call) && (status === 'canceled' || status === 'unknown')
}

/** Whether its process died and another one generated the round again. */
function isLost({ series }: Attempt): boolean {
  return series.at(-1)?.round.retracted !== undefined
}

function isGenerated({ failure, round: { end } }: Attempt): boolean {
  return !failure && end !== undefined && end.finish !== 'interrupted'
}

/** Whether no other round follows when its calls are answered. */
function endsRun({ round: { end } }: Attempt): boolean {
  return end?.finish === 'length'
}

/** The limit on rounds with tools that leads to the same outcome. */
function maxRoundsOf({ outcome }: RunView, kept: readonly Attempt[]): number | undefined {
  if (outcome !== 'max-rounds') return undefined
  return kept.filter((one) => !one.round.retracted && closedCalls(one).length > 0).length - 1
}

function streamCode(messages: readonly Message[], maxRounds: number | undefined, isFirst: boolean): Code {
  const [only, ...more] = messages
  const isText = isFirst && only?.role === 'user' && more.length === 0 && typeof only.content === 'string'
  const before = isFirst ? [] : ['...result.messages']
  const input = isText ? literal(only.content) : list([...before, ...messages.map(literal)])
  return callCode('assistant.stream', input, ...(maxRounds === undefined ? [] : [literal({ maxRounds })]))
}
