import type { LiveLog } from '../log/index.ts'
import type { ApprovalEvent, InputEvent, Message, Outcome, RunEvent } from '../protocol/index.ts'
import {
  cancelReason,
  hasInputs,
  MillraceError,
  nextAction,
  openRequests,
  PROTOCOL_VERSION,
  toMillraceError,
} from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { guardOf, repeatGuard, toolRuntime } from '../tools/index.ts'
import { interrupted } from './interrupted.ts'
import type { LoopOptions } from './options.ts'
import { readAnswer } from './output.ts'
import { takeUp, unansweredCalls, unknownFate, untakenCalls } from './take-up.ts'
import { teller } from './teller.ts'

/** What a run begins with: a conversation, or inputs of its thread, to answer. Without either it resumes the run of its log. */
export interface LoopStart {
  readonly input?: readonly Message[]
  readonly repairs?: readonly string[]
  /** The numbers of the inputs in the log of the thread. */
  readonly heard?: readonly number[]
  /** How many processes were lost over the run that it resumes. */
  readonly losses?: number
}

export interface Loop {
  /** The tools of the current round. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Resolves after `run-end`, with what is not in the log. Never rejects. */
  readonly ended: Promise<{ readonly error?: MillraceError; readonly value?: unknown }>
  /** Says something to a run outside of any thread. False if it is over already. */
  signal(event: InputEvent | ApprovalEvent): boolean
  cancel(reason: string): void
  fail(error: MillraceError): void
  /** Starts nothing any more; resolves when no tool is running. */
  hold(): Promise<void>
  /** Stops everything without a word: the log is somebody else's to write, or the process is about to go. */
  abandon(): void
}

/**
 * Starts a run, or resumes the one of the log. Its first event is in the log when this returns. Inputs, decisions and stops reach it
 * through the log. `onEnd` is called right after its last event was appended, or when it is abandoned.
 */
export function startLoop<Context>(
  runId: string,
  { log, start, onEnd }: { readonly log: LiveLog; readonly start: LoopStart; readonly onEnd?: () => void },
  options: LoopOptions<Context>,
): Loop {
  const { clock } = options
  const { input, repairs = [], heard = [], losses = 0 } = start
  const before = input || heard.length > 0 ? undefined : log.run
  const repeats = options.repeatLimits && repeatGuard(options.repeatLimits)
  for (const { name, input, output } of before?.recent ?? []) repeats?.record(name, input, output)
  const granted = () => [...log.run.granted, ...(options.above?.granted?.() ?? [])]
  /** Set when the end begins: nothing new is taken up. */
  let stopped = false
  let over = false
  let held = false
  /** Resolved with each decision that comes in, and then made anew. */
  let decision = Promise.withResolvers<void>()
  let answer: unknown
  const ended = Promise.withResolvers<{ error?: MillraceError; value?: unknown }>()

  function emit(event: RunEvent) {
    if (over) return
    log.append(event)
    options.relay?.(event)
    watching?.event(event)
  }

  const { agent, conversation, causes = [] } = options
  const watching = options.telemetry?.begin({
    runId,
    agent,
    conversation,
    inThread: options.inThread ?? false,
    causes,
    ...(before && {
      resumes: { runId: before.runId, trace: before.trace, calls: unansweredCalls(before) },
    }),
  })
  const trace = watching?.trace
  emit({
    type: 'run-start',
    version: PROTOCOL_VERSION,
    runId,
    agent,
    ...(trace !== undefined && { trace }),
    input: input ?? [],
    ...(repairs.length > 0 && { repairs }),
    ...(before && { resumes: before.runId }),
    ...(heard.length > 0 && { heard }),
    ...(losses > 0 && { losses }),
  })
  log.onSignal = (event) => {
    const reason = cancelReason(log.state)
    if (reason !== undefined) end('cancelled', interrupted(reason))
    else if (event.type === 'approval') decided(event)
  }

  const runtime = toolRuntime({
    emit,
    commit: options.commit,
    observe: options.observe,
    watching,
    clock,
    runId,
    originId: log.run.originId,
    context: options.context,
    concurrency: options.toolConcurrency,
    timeoutMs: options.toolTimeoutMs,
    maxResultChars: options.maxResultChars,
    maxOutputChars: options.maxOutputChars,
    repeats,
    guard: guardOf({ policy: options.permission, granted, above: options.above?.guard }),
    granted,
    runSignal: options.above?.runSignal,
    beforeCall: options.beforeCall,
    afterCall: options.afterCall,
    onFailure(name, reason) {
      if (options.onToolError !== 'fail') return
      const message = `the tool '${name}' failed: ${reason}`
      end('failed', new MillraceError({ op: 'tool.run', code: 'tool_failed', message }))
    },
  })

  const rounds = teller({ runId, log, emit, runtime, watching, options })

  /** Ends the run here and now, whatever is still going on: the only place where that happens. */
  function end(outcome: Outcome, error?: MillraceError) {
    if (over || stopped) return
    const cause = error && { error: error.toJSON() }
    stopped = true
    cancelDeadline()
    rounds.stop(error)
    const state = log.run
    if (state.phase === 'telling') rounds.interrupt(error)
    if (outcome !== 'suspended') {
      const reason = error ? `Not finished: ${error.message}.` : 'Not run.'
      runtime.cancel(reason, { inOrder: outcome !== 'cancelled' && outcome !== 'failed' })
      for (const { call, result, inFlight } of state.calls.values())
        if (!result) runtime.refuse(call, inFlight ? unknownFate : reason, inFlight ? 'unknown' : 'cancelled')
    }
    emit({
      type: 'run-end',
      outcome,
      ...(state.finish && { finish: state.finish }),
      usage: state.usage,
      ...cause,
    })
    over = true
    leave()
    ended.resolve({ ...(error && { error }), ...(outcome === 'completed' && { value: answer }) })
  }

  const cancelDeadline = Number.isFinite(options.runMs)
    ? clock.after(options.runMs, () => {
        const message = `the run did not finish within ${options.runMs} ms`
        end('failed', new MillraceError({ op: 'agent.run', code: 'timeout', message, retryable: false }))
      })
    : () => {}

  /** Deals with the calls that nobody is dealing with yet. */
  async function takeUpCalls(): Promise<void> {
    if (untakenCalls(log.run, runtime).length === 0) return
    await rounds.recallTools()
    if (stopped) return
    await takeUp(untakenCalls(log.run, runtime), {
      log,
      runtime,
      tools: rounds.tools,
      options,
      isOver: () => stopped,
    })
  }

  /** What somebody has allowed from now on answers what was asked before it, too. */
  function answerGranted() {
    const state = log.run
    for (const { callId, remember } of openRequests(state))
      if (remember?.rules.every((rule) => state.granted.includes(rule)))
        emit({ type: 'approval', callId, approved: true })
  }

  async function complete(): Promise<void> {
    const state = log.run
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
    // Something may have been said while the answer was being checked.
    if (options.planOnly || !hasInputs(log.state)) end('completed')
  }

  async function drive(): Promise<void> {
    // The caller gets its run before the model is asked.
    await undefined
    answerGranted()
    while (!stopped && !held) {
      const action = nextAction(log.state, options)
      switch (action.type) {
        case 'generate': {
          const error = await rounds.tell()
          if (error) end('failed', error)
          break
        }
        case 'retract':
          emit({
            type: 'round-retract',
            round: log.run.round,
            reason: 'the run was interrupted and goes on from here',
          })
          break
        case 'keep':
          rounds.interrupt()
          break
        case 'rejoin': {
          // Calls that had already closed run while the rest is generated.
          await takeUpCalls()
          const error = stopped ? undefined : await rounds.rejoin()
          if (error) end('failed', error)
          break
        }
        case 'execute':
          // The model may have finished in another process.
          runtime.modelDone()
          await takeUpCalls()
          await Promise.race([runtime.settled(), decision.promise])
          break
        case 'end':
          if (action.outcome === 'completed') await complete()
          else end(action.outcome)
      }
    }
  }

  /** A decision has come in, while the model may still be generating and other calls running. */
  function decided({ remember }: ApprovalEvent) {
    if (stopped) return
    if (remember) answerGranted()
    within(() => void takeUpCalls().catch(failed))
    decision.resolve()
    decision = Promise.withResolvers()
  }

  function leave() {
    log.onSignal = undefined
    onEnd?.()
  }

  function failed(thrown: unknown) {
    end('failed', toMillraceError(thrown, { op: 'agent.run', code: 'llm_error' }))
  }

  /** As a part of the run, whoever is calling: the caller's hooks may be asked. */
  function within(work: () => void) {
    if (watching) watching.within(undefined, work)
    else work()
  }

  within(() => void drive().catch(failed))

  return {
    get tools() {
      return rounds.tools
    },
    ended: ended.promise,
    signal(event) {
      if (stopped) return false
      emit(event)
      return true
    },
    cancel: (reason) => end('cancelled', interrupted(reason)),
    fail: (error) => end('failed', error),
    hold() {
      held = true
      return runtime.hold()
    },
    abandon() {
      if (over) return
      // First, so that nothing that ends now is told.
      over = stopped = true
      cancelDeadline()
      const error = interrupted('the run goes on elsewhere')
      rounds.stop(error)
      runtime.cancel(error.message, { goesOn: true })
      watching?.abandoned()
      leave()
      ended.resolve({ error })
    },
  }
}
