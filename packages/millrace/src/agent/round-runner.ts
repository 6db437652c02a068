import type {
  CallObserver,
  DoneEvent,
  FailedRequest,
  FinishReason,
  JsonObject,
  Message,
  Model,
  ModelCall,
  ModelRequest,
  ReachedLimit,
  RunRequest,
  RunState,
} from '../protocol/index.ts'
import {
  hasStarted,
  limitText,
  MillraceError,
  nextRequestOf,
  promptOf,
  steeringInputs,
} from '../protocol/index.ts'
import type { Tool, ToolRuntime } from '../tools/index.ts'
import type { Reached } from './budget.ts'
import { callBlockReason, roundBlockReason } from './call-limits.ts'
import { observeModelCall } from './combine-telemetry.ts'

import { compactionFailed, isNearLimit } from './compact.ts'
import { estimateInput } from './context-size.ts'
import { forEachInSlices } from './for-each-in-slices.ts'
import type { Generation } from './generation.ts'
import { generate } from './generation.ts'
import { interrupted } from './interrupted.ts'
import { modelList } from './option-checks.ts'
import type { RoundPlan } from './request.ts'
import { planRound, toRequest } from './request.ts'
import { requestCosts } from './request-costs.ts'
import type { ModelSelector } from './retry.ts'
import { modelSelector } from './retry.ts'
import { roundAssembler } from './round-assembler.ts'
import type { RoundCompaction, RoundContext } from './round-compaction.ts'
import { roundCompaction } from './round-compaction.ts'
import { roundEnd } from './round-end.ts'

/** Generates the rounds of a run: plans each one, and sends requests until one succeeds. */
export interface RoundRunner {
  /** The tools of the current round. */
  tools(): ReadonlyMap<string, Tool>
  /**
   * Restores `tools` if another process generated the current round. Rethrows errors from
   * `prepareRound`.
   */
  restoreTools(): Promise<void>
  /** Generates one round. Rejects with errors from hooks. */
  runRound(): Promise<RoundResult>
  /**
   * Resumes a generation from the log's checkpoint. If that fails, the round is retracted or kept,
   * as after any failure.
   */
  rejoin(): Promise<RoundResult>
  /** Retracts a round whose process died, or keeps its completed part. */
  retractLost(): Promise<void>
  keepLost(): Promise<void>
  /** Closes a round that the model did not finish. */
  interrupt(error?: MillraceError): void
  /** Sends and emits nothing more. An error also ends the request in progress. */
  stop(error?: MillraceError): void
  /** What requests have cost that no event reports yet. */
  takeFailed(): { readonly failed?: FailedRequest }
}

/** Empty if the round was generated. `error`: no retry is left. `reached`: nothing was sent. */
interface RoundResult {
  readonly error?: MillraceError | undefined
  readonly reached?: Reached | undefined
}

export interface RoundRunnerOptions<Context> extends RoundContext<Context> {
  readonly runtime: ToolRuntime
}

/** A planned round and the models to send it to. */
interface PreparedRound<Context> {
  readonly plan: RoundPlan<Context>
  readonly selector: ModelSelector
  /** The schema of the answer. */
  readonly output: JsonObject | undefined
}

/** How many generations of one round the provider may lose before the run fails. */
const maxLost = 2

const manyMessages = 4096

/** The share of a limit from which on a cheaper model answers. */
const defaultShare = 0.8

/** How often the conversation is compacted for one round before the run fails. */
const maxCompactions = 2

export function roundRunner<Context>(given: RoundRunnerOptions<Context>): RoundRunner {
  const { runId, log, emit, runtime, telemetry, options, budget, withRequest } = given
  const { clock, prices, requireStreaming } = options
  /** By the model that is tried first. They remember which models have failed in this run. */
  const selectors = new Map<Model | undefined, ModelSelector>()
  let stopped = false
  /** Ends the delay before a retry. */
  let wake = () => {}
  let generation: Generation | undefined
  let tools: ReadonlyMap<string, Tool> = byName(options.tools())
  let toolsRound = 0
  let latestPlan: RoundPlan<Context> | undefined
  let attempt = 1
  const costs = requestCosts(log, options, () => withRequest(log.run.request))
  let started: RoundCompaction | undefined
  /** Most runs never need one. */
  function compaction(): RoundCompaction {
    started ??= roundCompaction({ ...given, costs, plan, isStopped: () => stopped })
    return started
  }

  /** Plans a round from the agent's options, a request and the `prepareRound` hook. */
  function plan(
    round: number,
    messages: readonly Message[],
    request = log.run.request,
  ): Promise<RoundPlan<Context>> {
    const { context, prepareRound } = options
    const { system, settings, tools, toolChoice: choice } = withRequest(request)
    const { model } = selectorFor(request)
    // Forced to call a tool in every round, a model could never answer.
    const isForced = round === 1 || (request?.toolChoice !== undefined && isNewIn(round, request))
    const toolChoice = isForced || choice === 'auto' || choice === 'none' ? choice : undefined
    return planRound(
      { round, messages, model, system, tools: tools(), settings, toolChoice, context },
      prepareRound,
    )
  }

  function selectorFor(request: RunRequest | undefined): ModelSelector {
    const { models } = withRequest(request)
    const selector = selectors.get(models[0]) ?? modelSelector(models, options.retry)
    selectors.set(models[0], selector)
    return selector
  }

  /** Whether a round is the first one that reads a request. */
  function isNewIn(round: number, request: RunRequest): boolean {
    return request !== log.run.request || round === log.run.requestRound
  }

  function observerOf(call: ModelCall): CallObserver | undefined {
    return options.observe
      ? observeModelCall([options.observe, telemetry?.modelCall], call)
      : telemetry?.modelCall(call)
  }

  function prepare(plan: RoundPlan<Context>, request = log.run.request): PreparedRound<Context> {
    setTools(plan)
    const planned = selectorFor(request)
    // A model that the hook chose for one round has only its own fallbacks.
    const selector =
      plan.model === planned.model
        ? planned
        : modelSelector(modelList([plan.model], { op: 'prepareRound', requireStreaming }), options.retry)
    return { plan, selector, output: withRequest(request).output?.jsonSchema }
  }

  function setTools(plan: RoundPlan<Context>) {
    tools = byName(plan.tools)
    toolsRound = plan.round
    latestPlan = plan
  }

  async function restoreTools() {
    const { round, history } = log.run
    if (toolsRound !== round) setTools(await plan(round, history))
  }

  /** Resolves after `ms`, or when the run stops. */
  function waitFor(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (stopped) return resolve()
      const cancel = clock.after(ms, resolve)
      wake = () => {
        cancel()
        resolve()
      }
    })
  }

  /** Whether this model can resume the generation of the log's checkpoint. */
  function canResume({ id, provider, background }: Model): boolean {
    const { model, checkpoint } = log.run
    return background !== undefined && id === model && provider === checkpoint?.opaque.provider
  }

  /** Cancels a generation that the provider would continue without a connection. */
  function cancelBackground() {
    const { checkpoint } = log.run
    const { models } = withRequest(log.run.request)
    const model = [...models, latestPlan?.model].find((one) => one && canResume(one))
    if (checkpoint) void model?.background?.cancel(checkpoint.opaque, options.settings)
  }

  function retract(reason: string) {
    cancelBackground()
    runtime.endRound()
    emit({ type: 'round-retract', round: log.run.round, reason, ...costs.takeFailed() })
  }

  function interrupt(error?: MillraceError) {
    cancelBackground()
    const { round, model } = log.run
    emit({
      type: 'round-end',
      round,
      model,
      finish: 'interrupted',
      ...(error && { error: error.toJSON() }),
      ...costs.takeInterrupted(),
      ...(generation && { timings: generation.elapsed() }),
    })
    budget?.leave()
  }

  /**
   * Plans the next round and emits `round-start`. Returns undefined if the run stopped in the
   * meantime.
   */
  async function beginRound(): Promise<PreparedRound<Context> | Reached | undefined> {
    const blocked = budget?.takeBlocked()
    if (blocked) return blocked
    // A failure is ignored here: it is reported if the provider rejects the conversation.
    if (isNearLimit(log.run, options.maxContextTokens))
      await compaction().run('limit', selectorFor(compaction().request()).model)
    if (stopped) return undefined
    const { round, phase, inputs } = log.run
    const isRepeat = phase === 'none' && round > 0
    const [inputCount, steeringCount] = [inputs.length, steeringInputs(log.state).length]
    const planned = await plan(isRepeat ? round : round + 1, promptOf(log.state), nextRequestOf(log.state))
    if (stopped) return undefined
    // Messages that arrived while the hook ran belong to this round too.
    const steering = steeringInputs(log.state)
    const lateMessages = [
      ...log.run.inputs.slice(inputCount),
      ...steering.slice(steeringCount).flatMap(({ message }) => message ?? []),
    ]
    const numbers = steering.map(({ seq }) => seq)
    const messages = [...planned.messages, ...lateMessages]
    const first = prepare({ ...planned, messages }, nextRequestOf(log.state))
    const admitted = budget ? await admit(first) : { prepared: first }
    if (stopped) {
      budget?.leave()
      return undefined
    }
    if ('reached' in admitted) return admitted.reached
    const { prepared, limit } = admitted
    runtime.endRound()
    generation = undefined
    emit({
      type: 'round-start',
      round: planned.round,
      model: prepared.selector.model.id,
      ...(numbers.length > 0 && { inputs: numbers }),
      ...(limit && { limit }),
      ...costs.takeFailed(),
    })
    return prepared
  }

  /** Waits until the budget allows the request of a round, if necessary to a cheaper model. */
  async function admit(
    prepared: PreparedRound<Context>,
  ): Promise<{ prepared: PreparedRound<Context>; limit?: ReachedLimit } | { reached: Reached }> {
    const { onLimit } = options.budget ?? {}
    const cheaper = typeof onLimit === 'object' ? onLimit : undefined
    const share = cheaper ? (cheaper.from ?? defaultShare) : 1
    const reached = await enter(prepared, share)
    if (!reached) return { prepared }
    if (!cheaper || !reached.isOwn) return { reached }
    const other = prepare({ ...prepared.plan, model: cheaper.model }, nextRequestOf(log.state))
    const { limit } = reached
    const again = await enter(other)
    if (again) return { reached: again }
    const isLowered = limit.kind === 'usd' || limit.kind === 'tokens'
    return { prepared: other, limit: { ...limit, limit: isLowered ? limit.limit / share : limit.limit } }
  }

  async function enter(prepared: PreparedRound<Context>, share?: number) {
    const { plan, selector } = prepared
    const { model } = selector
    const pricing = prices.ready(model)
    if (pricing) await pricing
    const request = requestFor(prepared)
    const { contextTokens = 0 } = log.run
    return budget?.enter(
      {
        model,
        price: prices.find(model),
        inputTokens: estimateInput(request, log.run),
        cachedTokens: contextTokens,
        maxOutputTokens: plan.settings.maxOutputTokens,
      },
      share,
    )
  }

  let built: { round: PreparedRound<Context>; model: Model; request: ModelRequest } | undefined
  /** Built once for the budget and for sending it. */
  function requestFor(round: PreparedRound<Context>): ModelRequest {
    const { model } = round.selector
    if (built?.round !== round || built.model !== model)
      built = { round, model, request: toRequest(round.plan, model, round.output) }
    return built.request
  }

  async function runRound(): Promise<RoundResult> {
    const begun = await beginRound()
    if (!begun) return {}
    return 'limit' in begun ? { reached: begun } : send(begun, { shown: false })
  }

  async function rejoin(): Promise<RoundResult> {
    await restoreTools()
    if (stopped || !latestPlan) return {}
    const prepared = prepare(latestPlan)
    if (prepared.selector.select(canResume)) return send(prepared, { shown: true })
    // The agent no longer has the model that started the generation.
    if (hasStarted(log.run)) await keepLost()
    else await retractLost()
    return {}
  }

  async function retractLost() {
    await costs.lose()
    if (!stopped) retract('the run was interrupted and resumes here')
  }

  async function keepLost() {
    await costs.lose()
    if (!stopped) interrupt()
  }

  /**
   * Sends requests for a round until one succeeds. `shown`: part of the round is in the log
   * already.
   */
  async function send(first: PreparedRound<Context>, { shown }: { shown: boolean }): Promise<RoundResult> {
    let prepared = first
    let compactions = 0
    let lost = 0
    for (attempt = 1; !stopped; ) {
      const { model } = prepared.selector
      const resumes = canResume(model)
      const { checkpoint } = log.run
      const failure = await attemptRound(prepared, resumes)
      if (!failure || stopped) return {}
      shown ||= failure.shown
      let { error } = failure
      if (error.code === 'context_overflow' && !shown && compactions++ < maxCompactions) {
        const compacted = await compactedRound(prepared, error)
        if (stopped) return {}
        if (compacted.prepared) {
          prepared = compacted.prepared
          const reached = await sendAgain(prepared, 0, error)
          if (reached) return { reached }
          continue
        }
        error = compacted.error
      }
      // A connection that made progress does not count as a failure.
      if (resumes && (failure.shown || log.run.checkpoint !== checkpoint)) prepared.selector.onSuccess()
      // The provider no longer knows the generation, or does not continue it: start a new one.
      let delayMs = resumes && !error.retryable ? undefined : prepared.selector.onFailure(error)
      const isLost = resumes && delayMs === undefined
      if (isLost && lost++ < maxLost) {
        prepared.selector.onSuccess()
        delayMs = 0
      }
      if (delayMs === undefined) return { error }
      // A generation that ended with an empty answer cannot be resumed.
      const hasEnded = isLost || error.code === 'empty_answer'
      const continues = !hasEnded && prepared.selector.model === model && canResume(model)
      if (!continues && hasStarted(log.run)) {
        // The closed part of the round is kept: generating it again would run its calls twice.
        interrupt(error)
        runtime.modelDone()
        await waitFor(delayMs)
        return {}
      }
      if (!continues && (shown || log.run.checkpoint)) {
        retract(error.message)
        shown = false
      }
      // A generation that continues is not paid again.
      if (continues) costs.resume()
      const reached = await sendAgain(prepared, delayMs, error, continues)
      if (reached) return { reached }
    }
    return {}
  }

  /** Resolves to the limit that the request would exceed; the round is then retracted. */
  async function sendAgain(
    prepared: PreparedRound<Context>,
    delayMs: number,
    error: MillraceError,
    continues = false,
  ): Promise<Reached | undefined> {
    const { plan, selector } = prepared
    emitRetry(plan, selector.model, delayMs, error)
    if (!continues) budget?.leave()
    await waitFor(delayMs)
    if (!budget || continues || stopped) return undefined
    const reached = await enter(prepared)
    if (stopped) budget.leave()
    else if (reached) retract(limitText(reached.limit))
    return reached
  }

  function emitRetry(
    { round }: RoundPlan<Context>,
    { id: model }: Model,
    delayMs: number,
    error: MillraceError,
  ) {
    const retry = { round, attempt: ++attempt, model, delayMs, error: error.toJSON() }
    emit({ type: 'round-retry', ...retry, ...costs.takeFailed() })
  }

  /** Sends or resumes one request and emits its events. Resolves to undefined if it succeeded. */
  async function attemptRound(
    prepared: PreparedRound<Context>,
    resumes: boolean,
  ): Promise<{ error: MillraceError; shown: boolean } | undefined> {
    const { plan, selector } = prepared
    const { model } = selector
    // Collecting a long conversation and encoding the request each take long; yield in between.
    if (plan.messages.length > manyMessages) await clock.turn()
    if (stopped) return undefined
    const request = requestFor(prepared)
    const { checkpoint } = log.run
    const assembler = roundAssembler({
      log,
      emit,
      runtime,
      tools,
      roundBlockReason: roundBlockReason(log.run, options),
      callBlockReason: (index) => callBlockReason(index, options.maxCallsPerRound, budget),
      restart(reason) {
        const error = new MillraceError({ op: 'model.stream', code: 'stream_error', message: reason })
        if (hasStarted(log.run)) throw error
        costs.fail()
        retract(reason)
        costs.sent({ model, request, elapsed: () => (generation as Generation).elapsed() })
        emitRetry(plan, model, 0, error)
      },
      sinceCheckpoint: resumes && checkpoint ? [...checkpoint.since] : undefined,
    })
    generation = generate({
      model,
      request,
      resume: resumes ? checkpoint?.opaque : undefined,
      clock,
      firstEventMs: options.firstEventMs,
      idleMs: options.idleMs,
      onEvent: assembler.onModelEvent,
      observer: observerOf({ runId, round: plan.round, attempt, model, request }),
    })
    costs.sent({ model, request, elapsed: generation.elapsed })
    // Loading the catalog of prices takes a while, which the provider needs too.
    const pricing = prices.ready(model)
    // The model itself may have ended the run before `generation` was assigned.
    if (stopped) generation.stop(interrupted('the run has ended'))
    const { elapsed } = generation
    const { done, error } = await generation.end
    if (stopped) return undefined
    if (pricing) await pricing
    if (stopped) return undefined
    const { shown } = assembler
    const failure = done ? problemWith(done, model, assembler.isCaughtUp()) : error
    if (failure || !done) {
      costs.fail(done)
      return { error: failure as MillraceError, shown }
    }
    selector.onSuccess()
    const unfinished = assembler.unfinishedCalls(done)
    const slices = { clock, isStopped: () => stopped }
    if (unfinished.length > 0) await forEachInSlices(unfinished, slices, emit)
    if (stopped) return undefined
    emit(roundEnd(done, elapsed(), { round: plan.round, model: model.id, ...costs.takeDone(done) }))
    budget?.leave()
    runtime.modelDone()
    if (unfinished.length > 0)
      await forEachInSlices(unfinished, slices, (call) => {
        // A decision may have resumed the call in the meantime.
        if (!log.run.calls.get(call.callId)?.result)
          runtime.reject(call, `Not run: ${call.problem}.`, 'rejected')
      })
    return undefined
  }

  /** Why an answer is of no use although it is complete. */
  function problemWith({ finish }: DoneEvent, model: Model, caughtUp: boolean): MillraceError | undefined {
    if (!caughtUp) return endedEarly(model)
    return isEmptyAnswer(log.run, finish) ? emptyAnswerError(model, finish) : undefined
  }

  /** Plans the same round with a compacted conversation, or returns the error to fail with. */
  async function compactedRound(
    { plan: { round }, selector }: PreparedRound<Context>,
    error: MillraceError,
  ): Promise<{ prepared?: PreparedRound<Context>; error: MillraceError }> {
    const { summary, failure } = await compaction().run('overflow', selector.model)
    if (failure !== undefined) return { error: compactionFailed(error, failure) }
    if (!summary || stopped) return { error }
    // Inputs that arrived since the round started are for the next one.
    const planned = await plan(round, [...log.run.history])
    return { prepared: prepare(planned), error }
  }

  return {
    tools: () => tools,
    restoreTools,
    runRound,
    rejoin,
    retractLost,
    keepLost,
    interrupt,
    takeFailed: costs.takeFailed,
    stop(error) {
      stopped = true
      wake()
      if (!error) return
      generation?.stop(error)
      started?.stop(error)
    },
  }
}

const noTools: ReadonlyMap<string, Tool> = new Map()

function byName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  if (tools.length === 0) return noTools
  return new Map(tools.map((tool) => [tool.name, tool]))
}

/** Finish reasons that explain an answer without text. */
const finishesWithoutText: ReadonlySet<FinishReason> = new Set(['length', 'content-filter', 'refusal'])

/** No text, no tool call, and no provider tool. Reasoning alone is not an answer. */
function isEmptyAnswer({ draft, calls, openInputs }: RunState, finish: FinishReason): boolean {
  if (finishesWithoutText.has(finish) || draft.text !== '' || calls.size + openInputs.size > 0) return false
  const parts = draft.message()?.content ?? []
  return !parts.some((part) => part.type === 'provider-tool' && (part.input ?? part.output) !== undefined)
}

function emptyAnswerError({ id }: Model, finish: FinishReason): MillraceError {
  const message = `the model '${id}' ended its answer (${finish}) without text, a tool call or a refusal`
  return new MillraceError({ op: 'model.stream', code: 'empty_answer', message })
}

function endedEarly({ id }: Model): MillraceError {
  const message = `the model '${id}' ended its answer before the point that the log has reached`
  return new MillraceError({ op: 'model.stream', code: 'stream_error', message, retryable: false })
}
