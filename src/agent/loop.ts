import type {
  ApprovalEvent,
  HeardInput,
  Outcome,
  RunEvent,
  RunState,
  UserMessage,
} from '../protocol/index.ts'
import {
  applyEvent,
  emptyState,
  MillraceError,
  nextAction,
  openRequests,
  toMillraceError,
} from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { guardOf, repeatGuard, toolRuntime } from '../tools/index.ts'
import type { EventLog } from './event-log.ts'
import { eventLog } from './event-log.ts'
import { inTurns } from './in-turns.ts'
import { interrupted } from './interrupted.ts'
import type { LoopStart } from './loop-start.ts'
import { goesOn, runStart } from './loop-start.ts'
import type { LoopOptions } from './options.ts'
import { readAnswer } from './output.ts'
import { takeUp, unansweredCalls, unknownFate, untakenCalls } from './take-up.ts'
import { teller } from './teller.ts'

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
  /** Something that stands in the log of the thread already; the next round hears it. */
  hear(input: HeardInput): void
  /** A decision that stands in the log of the thread already. */
  decide(decision: ApprovalEvent): void
  cancel(reason: string): void
  fail(error: MillraceError): void
  /** Starts nothing any more; resolves when no tool is running. */
  hold(): Promise<void>
  /** Stops everything without a word: the log is somebody else's to write, or the process is about to go. */
  abandon(): void
}

/** Starts a run. Its first event is in the log when this returns. */
export function startLoop<Context>(runId: string, start: LoopStart, options: LoopOptions<Context>): Loop {
  const { clock } = options
  const state = 'state' in start ? start.state : emptyState()
  const repeats = options.repeatLimits && repeatGuard(options.repeatLimits)
  if ('log' in start) for (const event of start.log) recall(state, event)
  const log = eventLog((event) => applyEvent(state, event))
  const granted = () => [...state.granted, ...(options.above?.granted?.() ?? [])]
  /** Set when the end begins: nothing new is taken up. */
  let stopped = false
  let over = false
  let held = false
  /** Resolved with each decision that comes in, and then made anew. */
  let decided = Promise.withResolvers<void>()
  let answer: unknown
  const ended = Promise.withResolvers<{ error?: MillraceError; value?: unknown }>()

  /** Events from before this run: a state is folded from them, and so is what the guard against circles knows. */
  function recall(into: RunState, event: RunEvent) {
    if (event.type === 'tool-result') {
      const known = into.calls.get(event.callId)
      if (known && known.attempts > 0)
        repeats?.record(event.name, known.input ?? known.call.input, event.output)
    }
    applyEvent(into, event)
  }

  function emit(event: RunEvent) {
    if (over) return
    log.push(event)
    options.relay?.(event)
    watching?.event(event)
  }

  const { agent, conversation, causes = [] } = options
  const { runId: before, trace } = state
  const watching = options.telemetry?.begin({
    runId,
    agent,
    conversation,
    inThread: 'told' in start,
    causes,
    ...(goesOn(start) && { resumes: { runId: before, trace, calls: unansweredCalls(state) } }),
  })
  emit(runStart(runId, start, { agent, before, trace: watching?.trace }))

  const runtime = toolRuntime({
    emit,
    commit: options.commit,
    observe: options.observe,
    watching,
    clock,
    runId,
    originId: state.originId,
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

  const rounds = teller({ runId, state, emit, settle: log.settle, runtime, watching, options })

  /** Ends the run here and now, whatever is still going on: the only place where that happens. */
  function end(outcome: Outcome, error?: MillraceError) {
    if (over || stopped) return
    const cause = error && { error: error.toJSON() }
    stopped = true
    cancelDeadline()
    rounds.stop(error)
    log.settle()
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
    log.close()
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
    if (untakenCalls(state, runtime).length === 0) return
    await rounds.recallTools()
    if (stopped) return
    await takeUp(untakenCalls(state, runtime), {
      state,
      runtime,
      tools: rounds.tools,
      options,
      isOver: () => stopped,
    })
  }

  /** What somebody has allowed from now on answers what was asked before it, too. */
  function answerGranted() {
    for (const { callId, remember } of openRequests(state))
      if (remember?.rules.every((rule) => state.granted.includes(rule)))
        emit({ type: 'approval', callId, approved: true })
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
    if ('told' in start && repeats) {
      const past = emptyState()
      await inTurns(start.told, { clock, isOver: () => stopped }, (event) => recall(past, event))
    }
    if ('log' in start) for (const decision of start.decisions) emit(decision)
    answerGranted()
    while (!stopped && !held) {
      const action = nextAction(state, options)
      switch (action.type) {
        case 'generate': {
          const error = await rounds.tell()
          if (error) end('failed', error)
          break
        }
        case 'retract':
          emit({
            type: 'round-retract',
            round: state.round,
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
          // Of a run that goes on with another, nobody has said so yet.
          runtime.modelDone()
          await takeUpCalls()
          await Promise.race([runtime.settled(), decided.promise])
          break
        case 'end':
          if (action.outcome === 'completed') await complete()
          else end(action.outcome)
      }
    }
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
    log,
    state,
    get tools() {
      return rounds.tools
    },
    ended: ended.promise,
    steer(message) {
      if (stopped) return false
      emit({ type: 'input', message, mode: 'steer' })
      return true
    },
    hear(input) {
      if (!stopped) state.inputs.push(input)
    },
    decide(decision) {
      // Also when the run is over by now: one that is suspended goes on with it.
      applyEvent(state, decision)
      if (stopped) return
      if (decision.remember) answerGranted()
      // The model may still be talking, and other calls running.
      within(() => void takeUpCalls().catch(failed))
      decided.resolve()
      decided = Promise.withResolvers()
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
      log.close()
      ended.resolve({ error })
    },
  }
}
