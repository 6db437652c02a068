import type { Message, Outcome, ScriptStep, UserMessage } from '../../protocol/index.ts'
import type { CallView, RunView } from '../../view/index.ts'
import type { Code } from './code.ts'
import { call as callCode, list, literal } from './code.ts'
import type { Attempt, LoggedRun } from './log.ts'
import { closedCalls, doneSteps, failedStep, isCutOff, saidSteps, weightOf } from './log.ts'
import type { Stubs } from './stubs.ts'
import { addCall, addDecided, decisionOf, isStarted, requestOf, stubsFor, waitsInside } from './stubs.ts'

/** A round of the script, and what is done while it is generated. */
export interface PlannedRound {
  readonly steps: readonly ScriptStep[]
  readonly comment: string | undefined
  readonly steers: UserMessage[]
  /** Why the run is cancelled as soon as this is asked for. */
  readonly cancels: string | undefined
}

/** What is done in one go: a run is begun or resumed, perhaps cancelled, and comes out somehow. */
export interface PlannedLeg {
  readonly begin: Code
  readonly outcome: Outcome
  /** The words at the end of the run, and the code of its failure. */
  readonly text?: string
  readonly code?: string | undefined
  /** At once, or when so much was emitted. */
  readonly cancel?: { readonly reason: string; readonly after: number } | undefined
}

export interface Plan {
  readonly stubs: Stubs
  readonly rounds: PlannedRound[]
  readonly legs: PlannedLeg[]
}

/** Everything a test has to do so that an agent does again what the log says. */
export function planTest(runs: readonly LoggedRun[]): Plan {
  const plan: Plan = { stubs: stubsFor(runs), rounds: [], legs: [] }
  for (const run of runs) planRun(run, plan)
  return plan
}

function planRun({ run, messages: given, attempts }: LoggedRun, { stubs, rounds, legs }: Plan): void {
  const kept = attempts.filter((attempt) => !isLost(attempt))
  const ending = endingOf(run, kept.at(-1))
  const reason = (run.outcome && run.error?.message) ?? 'it was still going on when this was written'
  const failure = failedStep(run.error, false)
  const messages = [...given]
  let begin = () => streamCode(messages, maxRoundsOf(run, kept), legs.length === 0)
  /** Characters and events of the current leg. */
  let emitted = 0
  /** The last round of the current leg. */
  let current: PlannedRound | undefined
  /** What a round is the first to read was said while the one before it was generated. */
  let saidBefore: Message[] = messages
  let text = ''

  function resume(decisions: readonly object[]) {
    legs.push({ begin: begin(), outcome: 'suspended' })
    begin = () => callCode('run.resume', literal(decisions.length === 1 ? decisions[0] : decisions))
    emitted = 0
    current = undefined
  }

  function addRound(steps: readonly ScriptStep[], comment?: string) {
    // A run that is cancelled before it says anything is cancelled when this is asked for.
    const cancels = steps[0] && 'hang' in steps[0] ? reason : undefined
    const steers: UserMessage[] = []
    current = { steps, comment, steers, cancels }
    rounds.push(current)
    saidBefore = steers
    for (const step of steps) emitted += weightOf(step)
    text = steps.map((step) => ('text' in step ? step.text : '')).join('')
  }

  function planAttempt(attempt: Attempt, comment: string | undefined) {
    const isLast = attempt === kept.at(-1)
    const calls = sortCalls(attempt, isLast ? ending : 'by itself')
    const said = saidSteps(attempt)
    const last = lastSteps()
    addRound([...said, ...last], comment)
    // A model that finishes the round has what it left open answered; the last of too many rounds may not run tools.
    const isDone = isGenerated(attempt) && !last.some((step) => 'hang' in step || 'error' in step)
    const isRefused = isLast && run.outcome === 'max-rounds'
    for (const call of attempt.round.retracted ? [] : closedCalls(attempt)) {
      const [asks, hangs] = [calls.asking.includes(call), calls.hanging.includes(call)]
      if (isDone || !isCutOff(call)) emitted += addCall(stubs, call, { asks, hangs, isRefused })
    }
    if (calls.isStop) decide(calls, { isLast, isEnd: endsRun(attempt) })

    function lastSteps(): readonly ScriptStep[] {
      const isEnded = isLast && !calls.isStop
      if (isEnded && ending === 'failed') return [failure]
      if (isEnded && ending === 'cancelled' && !(isGenerated(attempt) && calls.hanging.length > 0))
        return [{ hang: true }]
      if (isGenerated(attempt)) return doneSteps(attempt, said)
      return [failedStep(attempt.failure ?? attempt.round.end?.error, true)]
    }
  }

  /** The run waits for a person here, and is resumed; or it was ended before. */
  function decide({ decided, undecided, hanging }: SortedCalls, { isLast = false, isEnd = false }) {
    const isCancelled = isLast && ending === 'cancelled'
    if (decided.length > 0) {
      resume(decided.map(asDecision))
      // With all of them answered the run would be over before it can be cancelled.
      const isTooLate = isEnd && undecided.length === 0 && hanging.length === 0
      const hasActed = decided.some((call) => isStarted(call) || call.result?.status !== 'cancelled')
      if (isCancelled && (isTooLate || !hasActed)) return
      for (const call of decided) emitted += addDecided(stubs, call, hanging.includes(call))
    }
    if (isLast && ending === 'failed') addRound([failure])
    if (!isCancelled || hanging.length > 0) return
    const [open] = undecided
    if (open) resume([{ callId: open.callId, approved: false, reason }])
    else addRound([{ hang: true }])
  }

  for (const [index, attempt] of attempts.entries()) {
    saidBefore.push(...attempt.inputs)
    if (!isLost(attempt)) planAttempt(attempt, commentOn(attempt, attempts[index - 1]))
  }
  if (kept.length === 0 && ending === 'failed') addRound([failure])
  const isCancelled = ending === 'cancelled' && !current?.cancels
  legs.push({
    begin: begin(),
    outcome: run.outcome ?? (ending === 'suspended' ? 'suspended' : 'cancelled'),
    text,
    code: ending === 'failed' ? run.error?.code : undefined,
    cancel: isCancelled ? { reason, after: emitted } : undefined,
  })
}

function commentOn({ isSummarized }: Attempt, before: Attempt | undefined): string | undefined {
  if (before && isLost(before)) return 'A process was lost while it told this, and another one told it again.'
  return isSummarized ? 'What had been said before was summed up, of which a script has no need.' : undefined
}

/** How a run comes to its end: by what its model and tools do, or by what is done to it. */
type Ending = 'cancelled' | 'failed' | 'suspended' | 'by itself'

function endingOf({ outcome }: RunView, last: Attempt | undefined): Ending {
  if (outcome === 'cancelled' || outcome === 'failed' || outcome === 'suspended') return outcome
  if (outcome !== undefined) return 'by itself'
  const open = last && isGenerated(last) ? closedCalls(last).filter(({ result }) => !result) : []
  const waits = open.length > 0 && open.every((call) => requestOf(call) && !isStarted(call))
  return waits ? 'suspended' : 'cancelled'
}

type SortedCalls = ReturnType<typeof sortCalls>

/** The calls that wait for a person, who has decided some of them, and those that run until the run is cancelled. */
function sortCalls(attempt: Attempt, ending: Ending) {
  const calls = closedCalls(attempt)
  // Of a sub-agent only the result is played; if that is what the run still waits for, it waits for the whole call.
  const asking = calls.filter((call) => requestOf(call) || (ending === 'suspended' && waitsInside(call)))
  const decided = asking.filter((call) => decisionOf(call) && (isStarted(call) || call.result))
  const undecided = asking.filter((call) => !decided.includes(call))
  const hanging = ending === 'cancelled' ? calls.filter(isUnfinished) : []
  const stops = {
    'by itself': true,
    suspended: true,
    cancelled: isGenerated(attempt) && hanging.every((call) => asking.includes(call)),
    failed: isGenerated(attempt) && undecided.length === 0 && !endsRun(attempt),
  }
  /** The run is suspended when everything else of the round is done. */
  const isStop = asking.length > 0 && !attempt.failure && stops[ending]
  return { asking, decided, undecided, hanging, isStop }
}

function asDecision(call: CallView) {
  const { approved, reason, input } = decisionOf(call) ?? {}
  return { callId: call.callId, approved, reason, input }
}

function isUnfinished(call: CallView): boolean {
  const { status = 'cancelled' } = call.result ?? {}
  return isStarted(call) && (status === 'cancelled' || status === 'unknown')
}

/** Its process died, and another one generated the round again. */
function isLost({ series }: Attempt): boolean {
  return series.at(-1)?.round.retracted !== undefined
}

function isGenerated({ failure, round: { end } }: Attempt): boolean {
  return !failure && end !== undefined && end.finish !== 'interrupted'
}

/** When its calls are answered, no other round follows. */
function endsRun({ round: { end } }: Attempt): boolean {
  return end?.finish === 'length'
}

/** With so many rounds that may run tools it comes to the end that it came to. */
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
