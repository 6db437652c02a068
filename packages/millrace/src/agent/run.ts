import type { MemoryLog } from '../log/index.ts'
import type {
  ApprovalRequestEvent,
  InputUserMessage,
  Message,
  MillraceError,
  Model,
  Outcome,
  Remembered,
  RememberFor,
  RoundFinish,
  RunEvent,
  Usage,
} from '../protocol/index.ts'
import { invalidInput, messageOf, messagesOf, openRequests } from '../protocol/index.ts'
import type { Partially } from '../tools/index.ts'
import { readUserMessage } from './input.ts'
import type { Loop } from './loop.ts'
import type { LoopOptions, RunOptions } from './options.ts'
import { partialAnswer } from './output.ts'
import type { TextOptions } from './run-text.ts'
import { textReader } from './run-text.ts'
import type { CallTypes } from './tool-types.ts'

/** A person's answer to an `approval-request`. */
export interface Decision {
  readonly callId: string
  readonly approved: boolean
  /** Told to the model when the call is declined. */
  readonly reason?: string
  /** Run the call with this instead. Held against the tool's schema like what the model wrote. */
  readonly input?: object
  /** Allows the same from now on: in this thread or always, by the rules of the request or by others. */
  readonly remember?: RememberFor | Remembered
}

/** How a run came out. With an `output` schema, an `outcome` of `completed` says that there is an `output`. */
export type RunResult<Output = undefined, Request = ApprovalRequestEvent> = undefined extends Output
  ? RunReport<Outcome, Output, Request>
  : RunReport<'completed', Output, Request> | RunReport<Exclude<Outcome, 'completed'>, undefined, Request>

interface RunReport<Ended extends Outcome, Output, Request> {
  readonly runId: string
  readonly outcome: Ended
  /** Why the last generation ended, if there was one. */
  readonly finish?: RoundFinish
  /** The words of the last round: the answer. */
  readonly text: string
  /** The validated answer of an agent with an `output` schema; only there when the run completed. */
  readonly output: Output
  /**
   * The conversation as the model reads it, ready to be gone on with: calls and results are paired, except those in `approvals`.
   * Where it was shortened, a summary stands in for its oldest part; the events keep that.
   */
  readonly messages: readonly Message[]
  /** The calls that wait for a person; empty unless `suspended`. */
  readonly approvals: readonly Request[]
  /** Over all rounds. */
  readonly usage: Usage
  readonly rounds: number
  readonly error?: MillraceError
}

/** What can be watched: a run, or a plan. Iterating it any number of times gives every event from the first, at the reader's pace. */
export interface Watchable<Event = RunEvent> extends AsyncIterable<Event> {
  readonly id: string
  /**
   * Only the words, of all rounds, as they are generated. Where words that it has yielded are retracted, a line of its own says so
   * before they come again; the options have it otherwise. Throws `invalid_input` for an option that it does not take.
   */
  text(options?: TextOptions): AsyncIterable<string>
  /** The events as a web stream. Cancelling it stops the reading, not the run. */
  toReadableStream(): ReadableStream<Event>
  /** Ends the run now: the request, every tool's signal, everything. Harmless when it is over. */
  cancel(reason?: string): void
}

export interface Run<Output = undefined, Draft = Output, Calls extends CallTypes = CallTypes>
  extends Watchable<Calls['event']> {
  /** Settles when the run is over, whatever came of it. Never rejects. */
  readonly result: Promise<RunResult<Output, Calls['request']>>
  /** The structured answer while it arrives: live views that grow in place. Begins anew in each round. */
  partials(): AsyncIterable<Partially<Draft>>
  /** Says something to the run that its next round hears. False if the run is over and nobody will. */
  steer(message: string | InputUserMessage): boolean
  /**
   * Goes on with a `suspended` run, once. Throws `invalid_input` if it is not, or if a decision fits no open call. The options are
   * those of the first run, but for its signal, and for what is given here.
   */
  resume(decisions: Decision | readonly Decision[], options?: RunOptions): Run<Output, Draft, Calls>
}

/** A run that was started, the log it writes, and the options it has. */
export interface Started<Context = unknown> {
  readonly loop: Loop
  readonly log: MemoryLog
  readonly runId: string
  readonly options: LoopOptions<Context>
}

export function watch({ loop, log, runId }: Started): Watchable {
  return {
    id: runId,
    [Symbol.asyncIterator]: () => log.read(),
    text(options) {
      const pick = textReader(options)
      return pickFrom(log.read(), pick)
    },
    toReadableStream: () => toReadableStream(log.read()),
    cancel: (reason = 'cancelled by the caller') =>
      loop.cancel(typeof reason === 'string' ? reason : messageOf(reason)),
  }
}

export function openRun(
  started: Started,
  resume: (events: readonly RunEvent[], decisions: readonly Decision[], options: RunOptions) => Run<unknown>,
): Run<unknown> {
  const { loop, log } = started
  const model = started.options.models[0] as Model
  let next: Run<unknown> | undefined
  return {
    ...watch(started),
    result: resultOf(started),
    partials: () => partialsOf(log.read()),
    steer(said) {
      const message = readUserMessage(said, { op: 'run.steer', model })
      return loop.signal({ type: 'input', message, mode: 'steer' })
    },
    resume(decisions, options = {}) {
      const { outcome } = log.run
      if (outcome !== 'suspended')
        throw invalidInput(
          'run.resume',
          `only a suspended run can be resumed, and this one is ${outcome ?? 'still going on'}`,
        )
      if (next)
        throw invalidInput(
          'run.resume',
          `this run has been resumed already, as ${next.id}: go on with that one`,
        )
      const list = Array.isArray(decisions) ? decisions : [decisions as Decision]
      next = resume(log.events(), list, options)
      return next
    },
  }
}

export async function resultOf({ loop, log }: Started): Promise<RunResult<unknown>> {
  const { error, value } = await loop.ended
  const state = log.run
  const { runId, outcome, finish, text, usage, round } = state
  return {
    runId,
    outcome,
    ...(finish && { finish }),
    text,
    output: value,
    messages: messagesOf(state),
    approvals: openRequests(state),
    usage,
    rounds: round,
    ...(error && { error }),
  } as RunResult<unknown>
}

/**
 * What `pick` makes of the events; those it makes nothing of are passed over. Leaving leaves the events too, also while waiting, and
 * so does a `pick` that throws.
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
    // The log is the buffer, and a bounded one: a reader that is far behind gets longer deltas.
    { highWaterMark: 0 },
  )
}
