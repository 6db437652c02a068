import type { LiveLog } from '../log/index.ts'
import type {
  CallObserver,
  FinishReason,
  Message,
  Model,
  ModelCall,
  RunEvent,
  RunState,
  RunTelemetry,
} from '../protocol/index.ts'
import { hasStarted, MillraceError, promptOf, steeringInputs } from '../protocol/index.ts'
import type { Tool, ToolRuntime } from '../tools/index.ts'
import { overTheLimit, refusalOf } from './call-limits.ts'
import type { Generation } from './generation.ts'
import { generate } from './generation.ts'
import { inTurns } from './in-turns.ts'
import { interrupted } from './interrupted.ts'
import { observed } from './onlookers.ts'
import { modelList } from './option-checks.ts'
import type { LoopOptions } from './options.ts'
import type { RoundPlan } from './request.ts'
import { planRound, toRequest } from './request.ts'
import type { Retries } from './retry.ts'
import { retries } from './retry.ts'
import { tellRound } from './round.ts'
import { roundEnd } from './round-end.ts'
import type { LongConversation, Shortening } from './shorten.ts'
import { isNearLimit, shortenConversation, unshortened } from './shorten.ts'

/** Tells the rounds of a run: plans each, and sends as many requests as it takes. */
export interface Teller {
  /** The tools of the current round. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Makes sure of `tools` where the current round was told by somebody else. Throws what `prepareRound` does. */
  recallTools(): Promise<void>
  /** Tells one round. Gives the error if that is hopeless; throws what the caller's hooks do. */
  tell(): Promise<MillraceError | undefined>
  /** Resumes a generation from the log's checkpoint. Where that fails, the round is retracted or kept, as after any failure. */
  rejoin(): Promise<MillraceError | undefined>
  /** Closes a round that the model did not finish. */
  interrupt(error?: MillraceError): void
  /** The run is over: nothing more is sent or told. With an error, the request that is under way ends with it. */
  stop(error?: MillraceError): void
}

export interface TellerOptions<Context> {
  readonly runId: string
  readonly log: LiveLog
  readonly emit: (event: RunEvent) => void
  readonly runtime: ToolRuntime
  readonly watching: RunTelemetry | undefined
  readonly options: LoopOptions<Context>
}

/** A round as it is sent, and to whom. */
interface Sending<Context> {
  readonly plan: RoundPlan<Context>
  readonly chosen: Retries
}

/** How many generations of one round may be lost at the provider before the run fails. */
const maxLost = 2

const manyMessages = 4096

/** How often a conversation is shortened for one round before it is given up. */
const maxShortenings = 2

export function teller<Context>(given: TellerOptions<Context>): Teller {
  const { runId, log, emit, runtime, watching, options } = given
  const { clock, models, requireStreaming } = options
  const modelRetries = retries(models, options.retry)
  let stopped = false
  /** Ends the wait before a request is sent again. */
  let wake = () => {}
  let generation: Generation | undefined
  let shortening: AbortController | undefined
  let tools: ReadonlyMap<string, Tool> = byName(options.tools())
  let toolsOfRound = 0
  let latestPlan: RoundPlan<Context> | undefined
  /** The attempt of the current round. */
  let attempt = 1

  /** A round as the agent's options and the caller's hook want it. */
  function plan(round: number, messages: readonly Message[]): Promise<RoundPlan<Context>> {
    const { system, settings, context, prepareRound } = options
    const { model } = modelRetries
    // Held to a tool in every round, a model could never answer.
    const { toolChoice: choice } = options
    const toolChoice = round === 1 || choice === 'auto' || choice === 'none' ? choice : undefined
    return planRound(
      { round, messages, model, system, tools: options.tools(), settings, toolChoice, context },
      prepareRound,
    )
  }

  function observerOf(call: ModelCall): CallObserver | undefined {
    return options.observe ? observed([options.observe, watching?.call], call) : watching?.call(call)
  }

  function take(plan: RoundPlan<Context>): Sending<Context> {
    setTools(plan)
    // A model chosen for one round alone has no fallback but its own.
    const chosen =
      plan.model === modelRetries.model
        ? modelRetries
        : retries(modelList([plan.model], { op: 'prepareRound', requireStreaming }), options.retry)
    return { plan, chosen }
  }

  function setTools(plan: RoundPlan<Context>) {
    tools = byName(plan.tools)
    toolsOfRound = plan.round
    latestPlan = plan
  }

  async function recallTools() {
    const { round, history } = log.run
    if (toolsOfRound !== round) setTools(await plan(round, history))
  }

  /** Until it is time, or the run is over. */
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

  /** Whether this model can continue the generation of the log's checkpoint. */
  function canResume({ id, provider, background }: Model): boolean {
    const { model, checkpoint } = log.run
    return background !== undefined && id === model && provider === checkpoint?.opaque.provider
  }

  /** The rest of the round is not wanted: cancels the generation where the provider would go on without a connection. */
  function giveUp() {
    const { checkpoint } = log.run
    const model = [...models, latestPlan?.model].find((one) => one && canResume(one))
    if (checkpoint) void model?.background?.cancel(checkpoint.opaque, options.settings)
  }

  function retract(reason: string) {
    giveUp()
    runtime.roundOver()
    emit({ type: 'round-retract', round: log.run.round, reason })
  }

  function interrupt(error?: MillraceError) {
    giveUp()
    const { round, model } = log.run
    emit({
      type: 'round-end',
      round,
      model,
      finish: 'interrupted',
      ...(error && { error: error.toJSON() }),
      ...(generation && { timings: generation.elapsed() }),
    })
  }

  /** Plans the next round and begins it. Gives nothing if the run is over by then. */
  async function begin(): Promise<Sending<Context> | undefined> {
    // What goes wrong here is told when the provider refuses: until then the conversation fits.
    if (isNearLimit(log.run, options.contextTokens)) await shorten('limit', modelRetries.model)
    if (stopped) return undefined
    const { round, phase, inputs } = log.run
    const again = phase === 'none' && round > 0
    const [said, steered] = [inputs.length, steeringInputs(log.state).length]
    const planned = await plan(again ? round : round + 1, promptOf(log.state))
    if (stopped) return undefined
    // What was said while the hook was thinking belongs to this round too.
    const steering = steeringInputs(log.state)
    const late = [...log.run.inputs.slice(said), ...steering.slice(steered).map(({ message }) => message)]
    const numbers = steering.map(({ seq }) => seq)
    const sending = take({ ...planned, messages: [...planned.messages, ...late] })
    runtime.roundOver()
    generation = undefined
    emit({
      type: 'round-start',
      round: planned.round,
      model: sending.chosen.model.id,
      ...(numbers.length > 0 && { heard: numbers }),
    })
    return sending
  }

  async function tell(): Promise<MillraceError | undefined> {
    const sending = await begin()
    return sending && send(sending, { shown: false })
  }

  async function rejoin(): Promise<MillraceError | undefined> {
    await recallTools()
    if (stopped || !latestPlan) return undefined
    const sending = take(latestPlan)
    if (sending.chosen.use(canResume)) return send(sending, { shown: true })
    // The agent no longer has the model that began it.
    if (hasStarted(log.run)) interrupt()
    else retract('the run was interrupted and goes on from here')
    return undefined
  }

  /** Sends requests for a round until one succeeds. `shown`: something of the round is in the log already. */
  async function send(first: Sending<Context>, { shown }: { shown: boolean }) {
    let sending = first
    let shortenings = 0
    let lost = 0
    for (attempt = 1; !stopped; ) {
      const { model } = sending.chosen
      const resumes = canResume(model)
      const { checkpoint } = log.run
      const failed = await tellOnce(sending, resumes)
      if (!failed || stopped) return undefined
      shown ||= failed.shown
      let { error } = failed
      if (error.code === 'context_overflow' && !shown && shortenings++ < maxShortenings) {
        const shorter = await shorterThan(sending, error)
        if (stopped) return undefined
        if (shorter.sending) {
          sending = shorter.sending
          await sendAgain(sending, 0, error)
          continue
        }
        error = shorter.error
      }
      // A connection that made progress does not count as a failure.
      if (resumes && (failed.shown || log.run.checkpoint !== checkpoint)) sending.chosen.succeeded()
      // The provider no longer knows the generation, or does not continue it: start a new one.
      let delayMs = resumes && !error.retryable ? undefined : sending.chosen.failed(error)
      const isLost = resumes && delayMs === undefined
      if (isLost && lost++ < maxLost) {
        sending.chosen.succeeded()
        delayMs = 0
      }
      if (delayMs === undefined) return error
      // A generation that ended with nothing is over, and has nothing to resume.
      const isOver = isLost || error.code === 'empty_answer'
      const goesOn = !isOver && sending.chosen.model === model && canResume(model)
      if (!goesOn && hasStarted(log.run)) {
        // The round stands as far as it closed: generating it again would run its calls twice.
        interrupt(error)
        runtime.modelDone()
        await waitFor(delayMs)
        return undefined
      }
      if (!goesOn && (shown || log.run.checkpoint)) {
        retract(error.message)
        shown = false
      }
      await sendAgain(sending, delayMs, error)
    }
    return undefined
  }

  function sendAgain(
    { plan, chosen }: Sending<Context>,
    delayMs: number,
    error: MillraceError,
  ): Promise<void> {
    tellRetry(plan, chosen.model, delayMs, error)
    return waitFor(delayMs)
  }

  function tellRetry(
    { round }: RoundPlan<Context>,
    { id: model }: Model,
    delayMs: number,
    error: MillraceError,
  ) {
    emit({ type: 'round-retry', round, attempt: ++attempt, model, delayMs, error: error.toJSON() })
  }

  /** Sends one request, or resumes one, and emits what comes back. Gives nothing if it succeeded. */
  async function tellOnce(
    { plan, chosen }: Sending<Context>,
    resumes: boolean,
  ): Promise<{ error: MillraceError; shown: boolean } | undefined> {
    const { model } = chosen
    // To gather so long a conversation and to write the request are a long turn each.
    if (plan.messages.length > manyMessages) await clock.turn()
    if (stopped) return undefined
    const request = toRequest(plan, model, options.output?.jsonSchema)
    const { checkpoint } = log.run
    const round = tellRound({
      log,
      emit,
      runtime,
      tools,
      refusal: refusalOf(log.run, options),
      overTheLimit: (index) => overTheLimit(index, options.maxCallsPerRound),
      restart(reason) {
        const error = new MillraceError({ op: 'model.stream', code: 'stream_error', message: reason })
        if (hasStarted(log.run)) throw error
        retract(reason)
        tellRetry(plan, model, 0, error)
      },
      past: resumes && checkpoint ? [...checkpoint.since] : undefined,
    })
    generation = generate({
      model,
      request,
      resume: resumes ? checkpoint?.opaque : undefined,
      clock,
      firstEventMs: options.firstEventMs,
      idleMs: options.idleMs,
      onEvent: round.hear,
      observer: observerOf({ runId, round: plan.round, attempt, model, request }),
    })
    // The model itself may have ended the run, before there was anything to stop.
    if (stopped) generation.stop(interrupted('the run is over'))
    const { elapsed } = generation
    const { done, error } = await generation.end
    if (stopped) return undefined
    const { shown } = round
    if (error) return { error, shown }
    if (!round.caughtUp) return { error: cutShort(model), shown }
    if (saidNothing(log.run, done.finish)) return { error: emptyAnswer(model, done.finish), shown }
    chosen.succeeded()
    const cutOff = round.cutOff(done)
    const slices = { clock, isOver: () => stopped }
    if (cutOff.length > 0) await inTurns(cutOff, slices, emit)
    if (stopped) return undefined
    emit(roundEnd(done, elapsed(), { round: plan.round, model: model.id }))
    runtime.modelDone()
    if (cutOff.length > 0)
      await inTurns(cutOff, slices, (call) => {
        // Meanwhile a decision may have had it taken up.
        if (!log.run.calls.get(call.callId)?.result)
          runtime.refuse(call, `Not run: ${call.problem}.`, 'rejected')
      })
    return undefined
  }

  /** The same round with a shorter conversation; or why it failed, and why it could not be shortened if that went wrong. */
  async function shorterThan(
    { plan: { round }, chosen }: Sending<Context>,
    error: MillraceError,
  ): Promise<{ sending?: Sending<Context>; error: MillraceError }> {
    const { summary, failure } = await shorten('overflow', chosen.model)
    if (failure !== undefined) return { error: unshortened(error, failure) }
    if (!summary || stopped) return { error }
    // What was said since the round began is for the next one.
    const planned = await plan(round, [...log.run.history])
    return { sending: take(planned), error }
  }

  async function shorten(reason: LongConversation['reason'], model: Model): Promise<Shortening> {
    if (!options.shorten) return {}
    shortening = new AbortController()
    const { signal } = shortening
    const shortened = await shortenConversation({
      ...options,
      shorten: options.shorten,
      limit: options.contextTokens,
      state: log.run,
      reason,
      model,
      signal,
      observeAside: (call) => watching?.call({ ...call, runId, round: log.run.round, aside: true }),
    })
    shortening = undefined
    if (shortened.summary) emit(shortened.summary)
    return shortened
  }

  return {
    get tools() {
      return tools
    },
    recallTools,
    tell,
    rejoin,
    interrupt,
    stop(error) {
      stopped = true
      wake()
      if (!error) return
      generation?.stop(error)
      shortening?.abort(error)
    },
  }
}

function byName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  return new Map(tools.map((tool) => [tool.name, tool]))
}

/** Finish reasons that explain an answer without words. */
const silentEnds: ReadonlySet<FinishReason> = new Set(['length', 'content-filter', 'refusal'])

/** No text, no call, and no result of a provider tool. Reasoning alone is not an answer. */
function saidNothing({ draft, calls, openInputs }: RunState, finish: FinishReason): boolean {
  if (silentEnds.has(finish) || draft.text !== '' || calls.size + openInputs.size > 0) return false
  const parts = draft.message()?.content ?? []
  return !parts.some((part) => part.type === 'provider-tool' && (part.input ?? part.output) !== undefined)
}

function emptyAnswer({ id }: Model, finish: FinishReason): MillraceError {
  const message = `the model '${id}' ended its answer (${finish}) without a word, a call or a refusal`
  return new MillraceError({ op: 'model.stream', code: 'empty_answer', message })
}

function cutShort({ id }: Model): MillraceError {
  const message = `the model '${id}' ended its answer before the point that the log had reached`
  return new MillraceError({ op: 'model.stream', code: 'stream_error', message, retryable: false })
}
