import type { LiveLog } from '../log/index.ts'
import type {
  ApprovalEvent,
  InputEvent,
  Message,
  Model,
  Outcome,
  ReachedLimit,
  RunEvent,
  RunRequest,
  ThreadEvent,
} from '../protocol/index.ts'
import {
  budgetId,
  cancelReason,
  hasInputs,
  limitText,
  MillraceError,
  nextAction,
  openRequests,
  PROTOCOL_VERSION,
  toMillraceError,
} from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { policyChain, repeatDetector, toolRuntime } from '../tools/index.ts'
import type { Reached } from './budget.ts'
import { askedAmount, checkBudgetStore, runBudget, unlimitedBudget } from './budget.ts'
import { interrupted } from './interrupted.ts'
import { runMetadata } from './metadata.ts'
import type { LoopOptions } from './options.ts'
import { readAnswer } from './output.ts'
import { resumeCalls, unansweredCalls, unknownOutcome, unstartedCalls } from './resume-calls.ts'
import { roundRunner } from './round-runner.ts'
import { withRequest } from './run-request.ts'

/**
 * A conversation or inputs of the thread to answer. Without either, the run in the log is resumed.
 */
export interface LoopStart {
  readonly input?: readonly Message[]
  readonly repairs?: readonly string[]
  /** The numbers of the inputs in the thread's log. */
  readonly inputs?: readonly number[]
  /** The numbers of inputs that it takes without reading them. */
  readonly discarded?: readonly number[]
  /** How many processes died during the run that it resumes. */
  readonly losses?: number
}

export interface Loop {
  /** The tools of the current round. */
  tools(): ReadonlyMap<string, Tool>
  /** Resolves after `run-end` with the parts that are not in the log. Never rejects. */
  readonly ended: Promise<{ readonly error?: MillraceError; readonly value?: unknown }>
  /** Sends an event to a run outside of a thread. Returns false if the run has ended. */
  signal(event: InputEvent | ApprovalEvent): boolean
  cancel(reason: string): void
  fail(error: MillraceError): void
  /** Starts nothing new; resolves when no tool is running. */
  drain(): Promise<void>
  /**
   * Stops everything without writing to the log: another process owns it now, or this one is about
   * to exit.
   */
  abandon(): void
}

/**
 * Starts a run, or resumes the one in the log. Its first event is in the log when this returns.
 * Inputs, decisions and stops reach it through the log. `onEnd` is called right after the last
 * event was appended, or when the run is abandoned.
 */
export function startLoop<Context>(
  runId: string,
  { log, start, onEnd }: { readonly log: LiveLog; readonly start: LoopStart; readonly onEnd?: () => void },
  options: LoopOptions<Context>,
): Loop {
  checkBudgetStore(options)
  const { clock } = options
  const { input, repairs = [], inputs = [], discarded = [], losses = 0 } = start
  const previous = input || inputs.length > 0 ? undefined : log.run
  const { workedFrom, workedUntil } = log.state
  const lostMs = previous && previous.outcome === undefined ? workedUntil - workedFrom : 0
  const startedAt = clock.now()
  const repeats = options.repeatLimits && repeatDetector(options.repeatLimits)
  for (const { name, input, output } of previous?.recent ?? []) repeats?.record(name, input, output)
  const granted = () => [...log.run.granted, ...(options.parentRun?.granted?.() ?? [])]
  /** Set when the run starts to end: nothing new starts after that. */
  let stopped = false
  let hasEnded = false
  let draining = false
  /** Resolved and replaced when a decision arrives. */
  let nextDecision = Promise.withResolvers<void>()
  let answer: unknown
  const ended = Promise.withResolvers<{ error?: MillraceError; value?: unknown }>()

  function emit(event: RunEvent) {
    if (hasEnded) return
    log.append(event)
    options.relay?.(event)
    telemetry?.event(event)
  }

  const { agent, conversation, parentTraces = [] } = options
  const telemetry = options.telemetry?.startRun({
    runId,
    agent,
    conversation,
    inThread: options.inThread ?? false,
    parentTraces,
    ...(previous && {
      resumes: { runId: previous.runId, trace: previous.trace, calls: unansweredCalls(previous) },
    }),
  })
  const trace = telemetry?.trace
  emit({
    type: 'run-start',
    version: PROTOCOL_VERSION,
    runId,
    agent,
    ...(trace !== undefined && { trace }),
    input: input ?? [],
    ...(repairs.length > 0 && { repairs }),
    ...(previous && { resumes: previous.runId }),
    ...(inputs.length > 0 && { inputs }),
    ...(discarded.length > 0 && { discarded }),
    ...(losses > 0 && { losses }),
    ...(lostMs > 0 && { lostMs }),
  })
  function onSignal(event: ThreadEvent) {
    const reason = cancelReason(log.state)
    if (reason !== undefined) end('canceled', interrupted(reason))
    else if (event.type === 'approval') onDecision(event)
  }
  // By name: V8 allocates a function literal that is assigned to a property among the old objects,
  // where only a major collection frees it, with the whole run.
  log.onSignal = onSignal

  const shared = { store: options.budgetStore, parent: options.parentRun?.budget }
  const budget = runBudget({ ...options, ...shared, runId, log, isStopped: () => stopped })

  const runtime = toolRuntime({
    emit,
    commit: options.commit,
    observe: options.observe,
    telemetry,
    model: () => merge(log.run.request).models[0] as Model,
    clock,
    runId,
    originId: log.run.originId,
    context: options.context,
    concurrency: options.toolConcurrency,
    timeoutMs: options.toolTimeoutMs,
    maxResultChars: options.maxResultChars,
    maxOutputChars: options.maxOutputChars,
    repeats,
    policies: policyChain({
      policy: options.permission,
      granted,
      parent: options.parentRun?.policies ?? options.parentPolicies,
    }),
    granted,
    thread: options.inThread ? conversation : options.parentRun?.thread,
    budget: budget?.shared ?? unlimitedBudget(shared),
    metadata: options.parentRun?.metadata ?? runMetadata(log, options.metadata, emit),
    runSignal: options.parentRun?.runSignal,
    beforeCall: options.beforeCall,
    afterCall: options.afterCall,
    onFailure(name, reason) {
      if (options.onToolError !== 'fail') return
      const message = `the tool '${name}' failed: ${reason}`
      end('failed', new MillraceError({ op: 'tool.run', code: 'tool_failed', message }))
    },
  })

  let merged:
    | { request: RunRequest | undefined; options: ReturnType<typeof withRequest<Context>> }
    | undefined
  /** Merged once for each request, since it compiles schemas. */
  function merge(request: RunRequest | undefined) {
    if (!merged || merged.request !== request) merged = { request, options: withRequest(options, request) }
    return merged.options
  }

  const rounds = roundRunner({ runId, log, emit, runtime, telemetry, options, budget, withRequest: merge })

  /** Ends the run now, whatever is in progress. The only place that emits `run-end`. */
  function end(outcome: Outcome, error?: MillraceError, limit?: ReachedLimit) {
    if (hasEnded || stopped) return
    const cause = error && { error: error.toJSON() }
    stopped = true
    cancelDeadline()
    rounds.stop(error)
    const state = log.run
    if (state.phase === 'generating') rounds.interrupt(error)
    if (outcome !== 'suspended') {
      const why = limit ? limitText(limit) : error && `${error.message}.`
      const reason = why ? `Not finished: ${why}` : 'Not run.'
      runtime.cancel(reason, { keepBackground: outcome !== 'canceled' && outcome !== 'failed' })
      for (const { call, result, inFlight } of state.calls.values())
        if (!result)
          runtime.reject(call, inFlight ? unknownOutcome : reason, inFlight ? 'unknown' : 'canceled')
    }
    emit({
      type: 'run-end',
      outcome,
      ...(state.finish && { finish: state.finish }),
      usage: state.usage,
      ...cause,
      ms: Math.round(clock.now() - startedAt),
      ...(limit && { limit }),
      ...rounds.takeFailed(),
    })
    hasEnded = true
    detach()
    ended.resolve({ ...(error && { error }), ...(outcome === 'completed' && { value: answer }) })
  }

  const deadlines: (() => void)[] = []
  const cancelDeadline = () => {
    for (const cancel of deadlines) cancel()
  }
  if (Number.isFinite(options.runMs))
    deadlines.push(
      clock.after(options.runMs, () => {
        const message = `the run did not finish within ${options.runMs} ms`
        end('failed', new MillraceError({ op: 'agent.run', code: 'timeout', message, retryable: false }))
      }),
    )
  const timeLimit = options.budget?.onLimit === 'ask' ? undefined : budget?.deadline()
  if (timeLimit) deadlines.push(clock.after(timeLimit.ms, () => end('budget', undefined, timeLimit.limit)))

  function onReached(reached: Reached) {
    const { limit, isOwn } = reached
    // The person who is asked about the budget of a parent run is asked by that run.
    if (options.budget?.onLimit !== 'ask' || !isOwn) return end('budget', undefined, limit)
    emit({
      type: 'approval-request',
      callId: freeId(log.run.callIds),
      name: 'budget',
      input: { [limit.kind]: askedAmount(options.budget, reached) },
      reason: limitText(limit),
      budget: limit,
    })
  }

  /** Runs or rejects the calls that have not been submitted yet. */
  async function resumeOpenCalls(): Promise<void> {
    if (unstartedCalls(log.run, runtime).length === 0) return
    await rounds.restoreTools()
    if (stopped) return
    await resumeCalls(unstartedCalls(log.run, runtime), {
      log,
      runtime,
      tools: rounds.tools(),
      options,
      budget,
      isStopped: () => stopped,
    })
  }

  /** Approves open requests that newly remembered rules cover. */
  function approveGranted() {
    const state = log.run
    for (const { callId, remember } of openRequests(state))
      if (remember?.rules.every((rule) => state.granted.includes(rule)))
        emit({ type: 'approval', callId, approved: true })
  }

  async function complete(): Promise<void> {
    const state = log.run
    const { output } = merge(log.run.request)
    if (output && !options.planOnly) {
      const checked = await readAnswer(state.text, output)
      if (stopped) return
      if (checked.problem !== undefined) {
        const isRefusal = state.finish === 'refusal' || state.finish === 'content-filter'
        if (isRefusal || state.corrections >= options.maxCorrections) {
          const message = `the answer is invalid. ${checked.problem}`
          return end('failed', new MillraceError({ op: 'agent.output', code: 'invalid_output', message }))
        }
        const content = `${checked.problem}\nReturn the complete, corrected answer.`
        return emit({ type: 'input', message: { role: 'user', content }, mode: 'correct' })
      }
      answer = checked.value
    }
    // Inputs may have arrived while the answer was being checked.
    if (options.planOnly || !hasInputs(log.state)) end('completed')
  }

  async function drive(): Promise<void> {
    // The caller gets the run before the model is called.
    await undefined
    approveGranted()
    while (!stopped && !draining) {
      const action = nextAction(log.state, options)
      switch (action.type) {
        case 'generate': {
          const { error, reached } = await rounds.runRound()
          if (error) end('failed', error)
          else if (reached && !stopped) onReached(reached)
          break
        }
        case 'retract':
          await rounds.retractLost()
          break
        case 'keep':
          await rounds.keepLost()
          break
        case 'rejoin': {
          // Calls that are already closed run while the rest is generated.
          await resumeOpenCalls()
          if (stopped) break
          const { error, reached } = await rounds.rejoin()
          if (error) end('failed', error)
          else if (reached && !stopped) onReached(reached)
          break
        }
        case 'execute':
          // The generation may have finished in another process.
          runtime.modelDone()
          await resumeOpenCalls()
          await Promise.race([runtime.settled(), nextDecision.promise])
          break
        case 'end':
          if (action.outcome === 'completed') await complete()
          else
            end(
              action.outcome,
              undefined,
              action.outcome === 'budget' ? log.run.budgetRequest?.budget : undefined,
            )
      }
    }
  }

  /** The model may still be generating, and other calls running. */
  function onDecision({ remember }: ApprovalEvent) {
    if (stopped) return
    if (remember) approveGranted()
    inRunContext(() => void resumeOpenCalls().catch(failWith))
    nextDecision.resolve()
    nextDecision = Promise.withResolvers()
  }

  function detach() {
    log.onSignal = undefined
    onEnd?.()
  }

  function failWith(thrown: unknown) {
    end('failed', toMillraceError(thrown, { op: 'agent.run', code: 'llm_error' }))
  }

  /** Runs hooks inside the run's trace, whatever triggered them. */
  function inRunContext(work: () => void) {
    if (telemetry) telemetry.runInContext(undefined, work)
    else work()
  }

  inRunContext(() => void drive().catch(failWith))

  return {
    tools: rounds.tools,
    ended: ended.promise,
    signal(event) {
      if (stopped) return false
      emit(event)
      return true
    },
    cancel: (reason) => end('canceled', interrupted(reason)),
    fail: (error) => end('failed', error),
    drain() {
      draining = true
      return runtime.drain()
    },
    abandon() {
      if (hasEnded) return
      // First, so that nothing is emitted for what ends below.
      hasEnded = stopped = true
      cancelDeadline()
      const error = interrupted('the run continues in another process')
      rounds.stop(error)
      runtime.cancel(error.message, { handover: true })
      telemetry?.handedOver()
      detach()
      ended.resolve({ error })
    },
  }
}

/** Decisions are found by their ids, so no two requests of a conversation have the same one. */
function freeId(taken: ReadonlySet<string>): string {
  let count = 1
  while (taken.has(`${budgetId}${count}`)) count++
  return `${budgetId}${count}`
}
