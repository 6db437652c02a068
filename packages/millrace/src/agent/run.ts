import type { MemoryLog } from '../log/index.ts'
import type {
  ApprovalRequestEvent,
  ContextUse,
  InputUserMessage,
  Message,
  MillraceError,
  Model,
  Outcome,
  ReachedLimit,
  Remembered,
  RememberFor,
  RoundFinish,
  RunEvent,
  TotalCost,
  Usage,
} from '../protocol/index.ts'
import { invalidInput, messageOf, messagesOf, openRequests, totalCost } from '../protocol/index.ts'
import type { DeepPartial } from '../tools/index.ts'
import { readUserMessage } from './input.ts'
import type { Loop } from './loop.ts'
import type { LoopOptions, RunOptions } from './options.ts'
import { partialAnswer } from './output.ts'
import type { RunResponseOptions } from './run-response.ts'
import { entryFrames, runResponse, uiMessageFrames } from './run-response.ts'
import type { TextOptions } from './run-text.ts'
import { textReader } from './run-text.ts'
import type { CallTypes } from './tool-types.ts'

/** A person's answer to an `approval-request`. */
export interface Decision {
  readonly callId: string
  readonly approved: boolean
  /** Shown to the model when the call is denied. */
  readonly reason?: string
  /** Run the call with this input instead. Checked against the tool's schema like the model's. */
  readonly input?: object
  /**
   * Allows the same in the future, in this thread or always, with the rules of the request or other
   * rules.
   */
  readonly remember?: RememberFor | Remembered
  /** The result of a call that wants one: text, JSON or `toolContent(…)`. */
  readonly output?: unknown
  /** The result describes a failure. */
  readonly isError?: boolean
}

/**
 * The result of a run. With an `output` schema, there is an `output` if `outcome` is `completed`.
 */
export type RunResult<Output = undefined, Request = ApprovalRequestEvent> = undefined extends Output
  ? RunReport<Outcome, Output, Request>
  : RunReport<'completed', Output, Request> | RunReport<Exclude<Outcome, 'completed'>, undefined, Request>

interface RunReport<Ending extends Outcome, Output, Request> {
  readonly runId: string
  readonly outcome: Ending
  /** Why the last round ended, if there was one. */
  readonly finish?: RoundFinish
  /** The text of the last round: the answer. */
  readonly text: string
  /** The validated answer of an agent with an `output` schema; only set if the run completed. */
  readonly output: Output
  /**
   * The context the model saw; pass it back to continue. Tool calls and results are paired, except
   * for the calls in `approvals`. If the conversation was compacted, a summary replaces its oldest
   * part; the events still have that part.
   */
  readonly messages: readonly Message[]
  /** The tool calls waiting for approval; empty unless `suspended`. */
  readonly approvals: readonly Request[]
  /** Over all rounds. */
  readonly usage: Usage
  /** With sub-agents, summaries and failed requests. */
  readonly cost: TotalCost
  /** How full the model's context was after the last round, and what filled it. */
  readonly context?: ContextUse
  readonly rounds: number
  /** The limit that ended the run, with the outcome `budget`. */
  readonly limit?: ReachedLimit
  readonly error?: MillraceError
}

/**
 * The events of a run or plan. Each iteration yields every event from the first, at the reader's
 * pace.
 */
export interface RunStream<Event = RunEvent> extends AsyncIterable<Event> {
  readonly id: string
  /**
   * The text of all rounds, as it is generated. If yielded text is retracted, a separate line says
   * so before the new text; the options change that. Throws `invalid_input` on an invalid option.
   */
  text(options?: TextOptions): AsyncIterable<string>
  /** The events as a web stream. Canceling the stream does not cancel the run. */
  toReadableStream(): ReadableStream<Event>
  /**
   * Ends the run now: aborts the request and every tool's signal. Does nothing if the run has
   * ended.
   */
  cancel(reason?: string): void
}

export interface Run<Output = undefined, Draft = Output, Calls extends CallTypes = CallTypes>
  extends RunStream<Calls['event']> {
  /** Resolves when the run has ended, with any outcome. Never rejects. */
  readonly result: Promise<RunResult<Output, Calls['request']>>
  /**
   * The structured answer while it streams, as a live object that grows in place. Starts over in
   * each round.
   */
  partials(): AsyncIterable<DeepPartial<Draft>>
  /**
   * Sends a message to the run; the model reads it in the next round. Returns false if the run has
   * ended.
   */
  steer(message: string | InputUserMessage): boolean
  /**
   * The events as a response with server-sent events, as `GET /threads/:id/events` of a server
   * sends them. Return it from a route handler. The run is canceled if the client disconnects,
   * unless `onDisconnect` says otherwise. Throws `invalid_input` on an invalid option.
   */
  toResponse(options?: RunResponseOptions): Response
  /**
   * The same as one message for `useChat` of the AI SDK, which `readUIMessages()` reads the
   * conversation of.
   */
  toUIMessageResponse(options?: RunResponseOptions): Response
  /**
   * Resumes a `suspended` run. A run can be resumed once. Throws `invalid_input` if it is not
   * suspended, or if a decision matches no open call. Options default to those of the first run,
   * except its signal.
   */
  resume(decisions: Decision | readonly Decision[], options?: RunOptions): Run<Output, Draft, Calls>
}

/** A started run, its log and its options. */
export interface StartedRun<Context = unknown> {
  readonly loop: Loop
  readonly log: MemoryLog
  readonly runId: string
  readonly options: LoopOptions<Context>
}

export function runStream({ loop, log, runId }: StartedRun): RunStream {
  return {
    id: runId,
    [Symbol.asyncIterator]: () => log.read(),
    text(options) {
      const pick = textReader(options)
      return pickFrom(log.read(), pick)
    },
    toReadableStream: () => toReadableStream(log.read()),
    cancel: (reason = 'canceled by the caller') =>
      loop.cancel(typeof reason === 'string' ? reason : messageOf(reason)),
  }
}

/** `earlier` are the events of the run that this one resumes. */
export function openRun(
  started: StartedRun,
  resume: (events: readonly RunEvent[], decisions: readonly Decision[], options: RunOptions) => Run<unknown>,
  earlier: readonly RunEvent[],
): Run<unknown> {
  const { loop, log } = started
  const model = started.options.models[0] as Model
  let next: Run<unknown> | undefined
  return {
    ...runStream(started),
    result: resultOf(started),
    partials: () => partialsOf(log.read()),
    toResponse: (options = {}) => runResponse(started, entryFrames(), options, 'run.toResponse'),
    toUIMessageResponse: (options = {}) =>
      runResponse(started, uiMessageFrames(earlier), options, 'run.toUIMessageResponse'),
    steer(input) {
      const message = readUserMessage(input, { op: 'run.steer', model })
      return loop.signal({ type: 'input', message, mode: 'steer' })
    },
    resume(decisions, options = {}) {
      const { outcome } = log.run
      if (outcome !== 'suspended')
        throw invalidInput(
          'run.resume',
          `only a suspended run can be resumed, and this one is ${outcome ?? 'still running'}`,
        )
      if (next) throw invalidInput('run.resume', `this run was already resumed as ${next.id}: use that run`)
      const list = Array.isArray(decisions) ? decisions : [decisions as Decision]
      next = resume(log.events(), list, options)
      return next
    },
  }
}

export async function resultOf({ loop, log }: StartedRun): Promise<RunResult<unknown>> {
  const { error, value } = await loop.ended
  const state = log.run
  const { runId, outcome, finish, text, usage, spent, context, round, limit } = state
  return {
    runId,
    outcome,
    ...(finish && { finish }),
    text,
    output: value,
    messages: messagesOf(state),
    approvals: openRequests(state),
    usage,
    cost: totalCost(spent),
    ...(context && { context }),
    rounds: round,
    ...(limit && { limit }),
    ...(error && { error }),
  } as RunResult<unknown>
}

/**
 * Maps events with `pick`, skipping those for which it returns undefined. Returning early, or a
 * `pick` that throws, also ends the iteration of `events`.
 */
function pickFrom<Value>(
  events: AsyncIterableIterator<RunEvent, undefined>,
  pick: (event: RunEvent) => Value | undefined,
): AsyncIterableIterator<Value, undefined> {
  function picked(event: RunEvent) {
    try {
      return pick(event)
    } catch (thrown) {
      void events.return?.()
      throw thrown
    }
  }
  return {
    async next() {
      for (;;) {
        const { done, value: event } = await events.next()
        if (done) return { done, value: undefined }
        const value = picked(event)
        if (value !== undefined) return { done: false, value }
      }
    },
    async return() {
      await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function partialsOf(events: AsyncIterableIterator<RunEvent, undefined>) {
  let answer = partialAnswer()
  return pickFrom(events, (event) => {
    if (event.type === 'round-start' || event.type === 'round-retract') answer = partialAnswer()
    if (event.type !== 'text') return undefined
    answer.push(event.text)
    return answer.value
  })
}

function toReadableStream(events: AsyncIterableIterator<RunEvent, undefined>): ReadableStream<RunEvent> {
  return new ReadableStream<RunEvent>(
    {
      async pull(controller) {
        const { done, value } = await events.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await events.return?.()
      },
    },
    // The log is the buffer, and it is bounded: a slow reader gets longer deltas.
    { highWaterMark: 0 },
  )
}
