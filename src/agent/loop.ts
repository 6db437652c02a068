import type { ApprovalEvent, JsonObject, Message, Outcome, RunEvent, UserMessage } from '../protocol/index.ts'
import { checkUsage, MillraceError, PROTOCOL_VERSION, toJson, toMillraceError } from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { repeatGuard, toolRuntime } from '../tools/index.ts'
import type { EventLog } from './event-log.ts'
import { eventLog } from './event-log.ts'
import type { Generation } from './generation.ts'
import { generate } from './generation.ts'
import { modelList } from './option-checks.ts'
import type { LoopOptions } from './options.ts'
import { readAnswer } from './output.ts'
import type { RoundPlan } from './request.ts'
import { planRound, toRequest } from './request.ts'
import type { Retries } from './retry.ts'
import { retries } from './retry.ts'
import { tellRound } from './round.ts'
import type { RunState } from './state.ts'
import { applyEvent, emptyState, mayRunTools, messagesOf, nextAction } from './state.ts'

/** What the model reads of a call that was running when its process died. */
const unknownFate =
  'This call was interrupted while it ran: whether it took effect is unknown, and it is not run again.'

/** Where a run begins: a conversation to answer, or the log of a run to go on with. */
export type LoopStart =
  | { readonly input: readonly Message[]; readonly repairs: readonly string[] }
  | { readonly log: readonly RunEvent[]; readonly decisions: readonly ApprovalEvent[] }

export interface Loop {
  readonly log: EventLog
  /** A fold of the log, always up to date at its end. */
  readonly state: RunState
  /** The tools of the current round. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Resolves after `run-end`, with what is not in the log. Never rejects. */
  readonly ended: Promise<{ readonly error?: MillraceError; readonly value?: unknown }>
  /** False if the run is over already. */
  steer(message: UserMessage): boolean
  cancel(reason: string): void
}

/** Starts a run. Its first event is in the log when this returns. */
export function startLoop<Context>(runId: string, start: LoopStart, options: LoopOptions<Context>): Loop {
  const { clock, models, requireStreaming } = options
  const state = emptyState()
  const guard = options.repeatLimits && repeatGuard(options.repeatLimits)
  if ('log' in start) for (const event of start.log) recall(event)
  const log = eventLog((event) => applyEvent(state, event))
  /** Set when the end begins: nothing new is taken up. */
  let stopped = false
  /** Ends the wait before a request is sent again. */
  let wake = () => {}
  const modelRetries = retries(models, options.retry)
  let over = false
  let generation: Generation | undefined
  let answer: unknown
  /** Those of the current round. */
  let roundTools: ReadonlyMap<string, Tool> = byName(options.tools)
  const ended = Promise.withResolvers<{ error?: MillraceError; value?: unknown }>()

  /** Events from before this run: the state is folded from them, and so is what the guard against circles knows. */
  function recall(event: RunEvent) {
    if (event.type === 'tool-result') {
      const known = state.calls.get(event.callId)
      if (known && known.attempts > 0)
        guard?.record(event.name, known.input ?? known.call.input, event.output)
    }
    applyEvent(state, event)
  }

  function emit(event: RunEvent) {
    if (over) return
    log.push(event)
    options.relay?.(event)
  }

  emit({
    type: 'run-start',
    version: PROTOCOL_VERSION,
    runId,
    agent: options.agent,
    ...('log' in start
      ? { input: [], resumes: state.runId }
      : { input: start.input, ...(start.repairs.length > 0 && { repairs: start.repairs }) }),
  })

  const runtime = toolRuntime({
    emit,
    clock,
    runId,
    originId: state.originId,
    context: options.context,
    concurrency: options.toolConcurrency,
    timeoutMs: options.toolTimeoutMs,
    maxResultChars: options.maxResultChars,
    repeats: guard,
    beforeCall: options.beforeCall,
    afterCall: options.afterCall,
    onFailure(name, reason) {
      if (options.onToolError !== 'fail') return
      const message = `the tool '${name}' failed: ${reason}`
      end('failed', new MillraceError({ op: 'tool.run', code: 'tool_failed', message }))
    },
  })

  /** Ends the run here and now, whatever is still going on: the only place where that happens. */
  function end(outcome: Outcome, error?: MillraceError) {
    if (over || stopped) return
    const cause = error && { error: error.toJSON() }
    stopped = true
    wake()
    cancelDeadline()
    if (error) generation?.stop(error)
    log.settle()
    if (state.phase === 'telling') interruptRound(error)
    if (outcome !== 'suspended') {
      const reason = error ? `Not finished: ${error.message}.` : 'Not run.'
      runtime.cancel(reason)
      for (const { call, result } of state.calls.values())
        if (!result) runtime.refuse(call, reason, 'cancelled')
    }
    emit({
      type: 'run-end',
      outcome,
      ...(state.finish && { finish: state.finish }),
      usage: state.usage,
      ...cause,
    })
    over = true
    log.close()
    ended.resolve({ ...(error && { error }), ...(outcome === 'completed' && { value: answer }) })
  }

  /** Closes a round that the model did not finish. */
  function interruptRound(error?: MillraceError) {
    emit({
      type: 'round-end',
      round: state.round,
      model: state.model,
      finish: 'interrupted',
      ...(error && { error: error.toJSON() }),
      ...(generation && { timings: generation.elapsed() }),
    })
  }

  function overTheLimit(index: number): string | undefined {
    if (index < options.maxCallsPerRound) return undefined
    return `Not run: at most ${options.maxCallsPerRound} calls are run in one round. Make this call again in the next.`
  }

  /** Why the calls of the current round are not run; undefined if they are. */
  function refusal(): string | undefined {
    if (options.planOnly) return 'Not run: this was only a plan.'
    return mayRunTools(state, options)
      ? undefined
      : `Not run: the limit of ${options.maxRounds} rounds with tools is reached.`
  }

  const cancelDeadline = Number.isFinite(options.runMs)
    ? clock.after(options.runMs, () => {
        const message = `the run did not finish within ${options.runMs} ms`
        end('failed', new MillraceError({ op: 'agent.run', code: 'timeout', message, retryable: false }))
      })
    : () => {}

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

  /** A round as the agent's options and the caller's hook want it. */
  function plan(round: number, messages: readonly Message[]): Promise<RoundPlan<Context>> {
    const { system, tools, settings, context, prepareRound } = options
    const { model } = modelRetries
    // Held to a tool in every round, a model could never answer.
    const { toolChoice: choice } = options
    const toolChoice = round === 1 || choice === 'auto' || choice === 'none' ? choice : undefined
    return planRound({ round, messages, model, system, tools, settings, toolChoice, context }, prepareRound)
  }

  /** Tells one round, however many requests that takes. */
  async function tell(): Promise<void> {
    const heard = state.inputs.length
    const again = state.phase === 'none' && state.round > 0
    const planned = await plan(again ? state.round : state.round + 1, messagesOf(state))
    if (stopped) return
    // What was said while the hook was thinking belongs to this round too.
    const told = { ...planned, messages: [...planned.messages, ...state.inputs.slice(heard)] }
    // A model chosen for one round alone has no fallback but its own.
    const chosen =
      told.model === modelRetries.model
        ? modelRetries
        : retries(modelList([told.model], { op: 'prepareRound', requireStreaming }), options.retry)
    roundTools = byName(told.tools)
    runtime.roundOver()
    generation = undefined
    emit({ type: 'round-start', round: told.round, model: chosen.model.id })
    for (let attempt = 1; !stopped; attempt++) {
      const failed = await tellOnce(told, chosen)
      if (!failed || stopped) return
      const { error, shown } = failed
      const delayMs = chosen.failed(error)
      if (delayMs === undefined) return end('failed', error)
      if (nextAction(state, options).type === 'keep') {
        // The round stands as far as it closed: generating it again would run its calls twice.
        interruptRound(error)
        runtime.modelDone()
        return waitFor(delayMs)
      }
      if (shown) {
        runtime.roundOver()
        emit({ type: 'round-retract', round: told.round, reason: error.message })
      }
      emit({
        type: 'round-retry',
        round: told.round,
        attempt: attempt + 1,
        model: chosen.model.id,
        delayMs,
        error: error.toJSON(),
      })
      await waitFor(delayMs)
    }
  }

  /** Sends one request and tells what comes back. Gives nothing if all went well. */
  async function tellOnce(
    plan: RoundPlan<Context>,
    chosen: Retries,
  ): Promise<{ error: MillraceError; shown: boolean } | undefined> {
    const request = toRequest(plan, chosen.model, options.output?.jsonSchema)
    const round = tellRound({
      state,
      emit,
      runtime,
      tools: roundTools,
      refusal: refusal(),
      overTheLimit,
    })
    generation = generate({
      model: chosen.model,
      request,
      clock,
      firstEventMs: options.firstEventMs,
      idleMs: options.idleMs,
      onEvent: round.hear,
    })
    // The model itself may have ended the run, before there was anything to stop.
    if (stopped) generation.stop(interrupted('the run is over'))
    const { elapsed } = generation
    const { done, error } = await generation.end
    if (stopped) return undefined
    if (error) return { error, shown: round.shown }
    chosen.succeeded()
    log.settle()
    const cutOff = round.closeCutOff(done)
    const { finish, metadata } = done
    const usage = done.usage && checkUsage(done.usage)
    const timings = elapsed()
    const tellingMs = timings.ms - (timings.firstEventMs ?? 0)
    const tokens = usage?.outputTokens
    emit({
      type: 'round-end',
      round: plan.round,
      model: chosen.model.id,
      finish,
      ...(usage && { usage }),
      timings: {
        ...timings,
        ...(tokens && tellingMs > 0 && { tokensPerSecond: (tokens / tellingMs) * 1000 }),
      },
      ...(metadata && { metadata: toJson(metadata) as JsonObject }),
    })
    runtime.modelDone()
    for (const call of cutOff) runtime.refuse(call, `Not run: ${call.problem}.`, 'rejected')
    return undefined
  }

  /** Deals with the calls that nobody is dealing with yet: those of a log that was taken over, or newly decided. */
  async function takeUpCalls(): Promise<void> {
    const untaken = [...state.calls.values()].filter(
      (known) => !known.result && !runtime.knows(known.call.callId) && !known.waiting,
    )
    if (untaken.length === 0) return
    roundTools = byName((await plan(state.round, state.history)).tools)
    if (stopped) return
    const order = [...state.calls.keys()]
    for (const { call, attempts, inFlight, input, requests, decisions, relayed } of untaken) {
      const reason = refusal() ?? overTheLimit(order.indexOf(call.callId))
      if (inFlight && roundTools.get(call.name)?.repeat !== 'safe')
        runtime.refuse(call, unknownFate, 'unknown')
      else if (reason) runtime.refuse(call, reason, 'blocked')
      else
        runtime.submit({
          call,
          tools: roundTools,
          attempt: attempts + 1,
          decision: decisions.get(call.callId),
          ranWith: input ?? requests.get(call.callId)?.input,
          ...(relayed.length > 0 && {
            resumed: { events: [...relayed], decisions: inside(call.callId, decisions) },
          }),
        })
    }
  }

  async function complete(): Promise<void> {
    if (options.output && !options.planOnly) {
      const checked = await readAnswer(state.text, options.output)
      if (stopped) return
      if (checked.problem !== undefined) {
        const refused = state.finish === 'refusal' || state.finish === 'content-filter'
        if (refused || state.corrections >= options.maxCorrections) {
          const message = `the answer cannot be used. ${checked.problem}`
          return end('failed', new MillraceError({ op: 'agent.output', code: 'invalid_output', message }))
        }
        const content = `${checked.problem}\nGive the whole answer again, corrected.`
        return emit({ type: 'input', message: { role: 'user', content }, mode: 'correct' })
      }
      answer = checked.value
    }
    // Somebody may have spoken while the answer was being checked.
    if (options.planOnly || state.inputs.length === 0) end('completed')
  }

  async function drive(): Promise<void> {
    // The caller gets its run before the model is asked.
    await undefined
    if ('log' in start) for (const decision of start.decisions) emit(decision)
    while (!stopped) {
      const action = nextAction(state, options)
      switch (action.type) {
        case 'generate':
          await tell()
          break
        case 'retract':
          emit({
            type: 'round-retract',
            round: state.round,
            reason: 'the run was interrupted and goes on from here',
          })
          break
        case 'keep':
          interruptRound()
          break
        case 'execute':
          await takeUpCalls()
          await runtime.settled()
          break
        case 'end':
          if (action.outcome === 'completed') await complete()
          else end(action.outcome)
      }
    }
  }

  drive().catch((thrown: unknown) =>
    end('failed', toMillraceError(thrown, { op: 'agent.run', code: 'llm_error' })),
  )

  return {
    log,
    state,
    get tools() {
      return roundTools
    },
    ended: ended.promise,
    steer(message) {
      if (stopped) return false
      emit({ type: 'input', message, mode: 'steer' })
      return true
    },
    cancel: (reason) => end('cancelled', interrupted(reason)),
  }
}

function interrupted(message: string): MillraceError {
  return new MillraceError({ op: 'agent.run', code: 'stream_interrupted', message })
}

function byName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  return new Map(tools.map((tool) => [tool.name, tool]))
}

/** Decisions for a sub-agent, under the ids that it knows. */
function inside(callId: string, decisions: ReadonlyMap<string, ApprovalEvent>): ApprovalEvent[] {
  const below = [...decisions.values()].filter((decision) => decision.callId.startsWith(`${callId}/`))
  return below.map((decision) => ({ ...decision, callId: decision.callId.slice(callId.length + 1) }))
}
