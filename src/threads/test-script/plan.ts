import type { Decision } from '../../agent/index.ts'
import type { Message, Outcome, ScriptStep, UserMessage } from '../../protocol/index.ts'
import type { LoggedCall, LoggedRound, LoggedRun, LoggedThread } from './log.ts'
import { doneSteps, failedStep, saidSteps, weightOf } from './steps.ts'
import type { Stubs } from './stubs.ts'
import { closedCalls, stubsFor } from './stubs.ts'

/** A round of the script, and what is done while it is told. */
export interface PlannedRound {
  readonly steps: readonly ScriptStep[]
  readonly comment: string | undefined
  readonly steers: UserMessage[]
  /** Why the run is cancelled as soon as this is asked for. */
  cancels?: string
}

/** What is done in one go: a run is begun or gone on with, perhaps cancelled, and comes out somehow. */
export interface PlannedLeg {
  readonly begin:
    | { readonly messages: readonly Message[]; readonly maxRounds: number | undefined }
    | { readonly decisions: readonly Decision[] }
  outcome: Outcome
  /** The words at the end of the run, and the code of its failure. */
  text?: string
  code?: string | undefined
  /** At once, or when so much was told. */
  cancel?: { readonly reason: string; readonly afterTold: number }
}

export interface Plan extends Pick<Stubs, 'tools' | 'verdicts'> {
  readonly rounds: readonly PlannedRound[]
  readonly legs: readonly PlannedLeg[]
}

/** Everything a test has to do so that an agent does again what the log tells. */
export function planTest({ runs }: LoggedThread): Plan {
  const stubs = stubsFor(runs)
  const rounds: PlannedRound[] = []
  const legs: PlannedLeg[] = []
  for (const run of runs) {
    const planned = planRun(run, stubs)
    rounds.push(...planned.rounds)
    legs.push(...planned.legs)
  }
  return { ...stubs, rounds, legs }
}

function planRun(run: LoggedRun, stubs: Stubs) {
  const lostRounds = lostIn(run)
  const kept = run.rounds.filter((round) => !lostRounds.has(round))
  const ending = endingOf(run, kept.at(-1))
  const outcome = run.outcome ?? (ending === 'suspended' ? 'suspended' : 'cancelled')
  const reason = (run.outcome && run.error?.message) ?? 'it was still going on when this was written'
  const messages = [...run.messages]
  const rounds: PlannedRound[] = []
  let leg: PlannedLeg = { begin: { messages, maxRounds: maxRoundsOf(run, kept) }, outcome }
  const legs = [leg]
  /** Characters and events of the current leg. */
  let told = 0
  let roundsBefore = 0
  let text = ''
  let lost = false

  function goOn(decisions: readonly Decision[]) {
    leg.outcome = 'suspended'
    leg = { begin: { decisions }, outcome }
    legs.push(leg)
    told = 0
    roundsBefore = rounds.length
  }

  /** A round that was not told: what happened before it could be must happen in it. */
  function addRound(last: ScriptStep) {
    rounds.push({ steps: [last], comment: undefined, steers: [], ...('hang' in last && { cancels: reason }) })
    text = ''
  }

  function tell(round: LoggedRound, isLast: boolean) {
    const calls = sortCalls(round, isLast ? ending : 'by itself')
    const said = saidSteps(round)
    const isCancelled = isLast && ending === 'cancelled' && !calls.isStop
    const last = lastSteps()
    const comment = lost
      ? 'A process was lost while it told this, and another one told it again.'
      : summed(round)
    lost = false
    const cancels = isCancelled && said.length === 0 && { cancels: reason }
    rounds.push({ steps: [...said, ...last], comment, steers: [], ...cancels })
    text = said.map((step) => ('text' in step ? step.text : '')).join('')
    told += said.reduce((sum, step) => sum + weightOf(step), 0)
    const isDone = isTold(round) && !last.some((step) => 'hang' in step || 'error' in step)
    const isRefused = isLast && run.outcome === 'max-rounds'
    if (!round.retracted) told += stubs.take(round, { ...calls, isDone, isRefused })
    if (calls.isStop) decide(calls, { isLast, isEnd: endsRun(round) })

    function lastSteps(): readonly ScriptStep[] {
      if (isLast && ending === 'failed' && !calls.isStop)
        return [failedStep(run.error, { isSentAgain: false })]
      if (isCancelled && !(isTold(round) && calls.hanging.length > 0)) return [{ hang: true }]
      if (isTold(round)) return doneSteps(round, said)
      return [failedStep(round.failure ?? round.end?.error, { isSentAgain: true })]
    }
  }

  /** The run waits for a person here, and then goes on; or it was ended before. */
  function decide({ decided, undecided, hanging }: SortedCalls, { isLast = false, isEnd = false }) {
    const isCancelled = isLast && ending === 'cancelled'
    if (decided.length > 0) {
      goOn(decided.map(decisionOf))
      // With all of them answered the run would be over before it can be cancelled.
      const isTooLate = isEnd && undecided.length === 0 && hanging.length === 0
      if (isCancelled && (isTooLate || !decided.some(hasActed))) return
      told += stubs.run(decided, hanging)
    }
    if (isLast && ending === 'failed') addRound(failedStep(run.error, { isSentAgain: false }))
    if (!isCancelled || hanging.length > 0) return
    const [open] = undecided
    if (open) goOn([{ callId: open.call.callId, approved: false, reason }])
    else addRound({ hang: true })
  }

  for (const round of run.rounds) {
    // What a round is the first to hear was said while the one before it was told.
    const before = rounds.at(-1)?.steers ?? messages
    before.push(...round.heard)
    if (lostRounds.has(round)) lost = true
    else tell(round, round === kept.at(-1))
  }
  if (kept.length === 0 && ending === 'failed') addRound(failedStep(run.error, { isSentAgain: false }))
  if (ending === 'cancelled' && !rounds.slice(roundsBefore).at(-1)?.cancels)
    leg.cancel = { reason, afterTold: told }
  leg.text = text
  if (ending === 'failed') leg.code = run.error?.code
  return { rounds, legs }
}

/** How a run comes to its end: by what its model and tools do, or by what is done to it. */
type Ending = 'cancelled' | 'failed' | 'suspended' | 'by itself'

function endingOf({ outcome }: LoggedRun, last: LoggedRound | undefined): Ending {
  if (outcome === 'cancelled' || outcome === 'failed' || outcome === 'suspended') return outcome
  if (outcome !== undefined) return 'by itself'
  const open = last && isTold(last) ? closedCalls(last).filter(({ result }) => !result) : []
  return open.length > 0 && open.every(({ request, started }) => request && !started)
    ? 'suspended'
    : 'cancelled'
}

interface SortedCalls {
  /** They wait for a person, who has decided some of them. */
  readonly asking: readonly LoggedCall[]
  readonly decided: readonly LoggedCall[]
  readonly undecided: readonly LoggedCall[]
  /** They run until the run is cancelled. */
  readonly hanging: readonly LoggedCall[]
  /** The run is suspended when everything else of the round is done. */
  readonly isStop: boolean
}

function sortCalls(round: LoggedRound, ending: Ending): SortedCalls {
  const calls = closedCalls(round)
  // Of a sub-agent only the result is played; if that is what the run still waits for, it waits for the whole call.
  const asking = calls.filter(
    ({ request, waitsInside }) => request || (ending === 'suspended' && waitsInside),
  )
  const decided = asking.filter(({ decision, started, result }) => decision && (started || result))
  const undecided = asking.filter((call) => !decided.includes(call))
  const hanging = ending === 'cancelled' ? calls.filter(isUnfinished) : []
  const isStop =
    asking.length > 0 &&
    !round.failure &&
    (ending === 'by itself' ||
      ending === 'suspended' ||
      (isTold(round) &&
        (ending === 'cancelled'
          ? hanging.every((call) => asking.includes(call))
          : undecided.length === 0 && decided.length > 0 && !endsRun(round))))
  return { asking, decided, undecided, hanging, isStop }
}

/** Rounds whose process died, with all their attempts. Another process generated them again. */
function lostIn({ rounds }: LoggedRun): ReadonlySet<LoggedRound> {
  const lost = new Set<LoggedRound>()
  let isLost = false
  for (const round of rounds.toReversed()) {
    isLost ||= round.retracted && !round.failure
    if (isLost) lost.add(round)
    isLost &&= round.isAgain
  }
  return lost
}

function isTold({ end }: LoggedRound): boolean {
  return end !== undefined && end.finish !== 'interrupted'
}

/** When its calls are answered, no other round follows. */
function endsRun({ end }: LoggedRound): boolean {
  return end?.finish === 'length'
}

function isUnfinished({ started, result }: LoggedCall): boolean {
  return started && (!result || result.status === 'cancelled' || result.status === 'unknown')
}

function hasActed({ started, result }: LoggedCall): boolean {
  return started || result?.status !== 'cancelled'
}

/** With so many rounds that may run tools it comes to the end that it came to. */
function maxRoundsOf({ outcome }: LoggedRun, kept: readonly LoggedRound[]): number | undefined {
  if (outcome !== 'max-rounds') return undefined
  return kept.filter((round) => !round.retracted && closedCalls(round).length > 0).length - 1
}

function summed({ summed }: LoggedRound): string | undefined {
  return summed ? 'What had been said before was summed up, of which a script has no need.' : undefined
}

function decisionOf({ call, decision }: LoggedCall): Decision {
  const { approved = false, reason, input } = decision ?? {}
  return { callId: call.callId, approved, ...(reason !== undefined && { reason }), ...(input && { input }) }
}
