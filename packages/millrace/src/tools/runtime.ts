import type {
  ApprovalRequestEvent,
  CallStatus,
  Clock,
  JsonObject,
  ObserveCall,
  Permission,
  RunEvent,
  RunTelemetry,
  ToolCallEvent,
  ToolResultPart,
} from '../protocol/index.ts'
import { isObject, messageOf, toJson, wordsOfResult } from '../protocol/index.ts'
import type { AdmitOptions, CallOrder, Ready } from './admit.ts'
import { admitCall, permissionOf } from './admit.ts'
import { andThen } from './and-then.ts'
import { cutParts, toParts } from './content.ts'
import { elsewhere } from './elsewhere.ts'
import type { Executing, Execution } from './execute.ts'
import { executeCall } from './execute.ts'
import { covers } from './guard.ts'
import type { NestedRun } from './nested-run.ts'
import { nestedRun } from './nested-run.ts'
import { pendingRequests } from './pending.ts'
import type { Access } from './policy.ts'
import { createPool } from './pool.ts'
import type { HookCall } from './prepare.ts'
import { runEnding } from './run-ending.ts'

/** `output` (anything a tool may return) replaces the result of a call that ran. */
export type AfterCall<
  Context = unknown,
  Replaced extends Replacement | undefined | void = Replacement | undefined | void,
> = (
  call: HookCall<Context>,
  result: { readonly output: readonly ToolResultPart[]; readonly isError: boolean; readonly ms: number },
) => Replaced | Promise<Replaced>

export interface Replacement {
  readonly output: unknown
  readonly isError?: boolean
}

export interface RuntimeOptions<Context> extends AdmitOptions<Context> {
  readonly emit: (event: RunEvent) => void
  /** Where the events are kept: resolves when those emitted so far are safe. A tool starts only after that. */
  readonly commit: (() => Promise<void>) | undefined
  readonly observe?: ObserveCall | undefined
  readonly watching?: RunTelemetry | undefined
  readonly clock: Clock
  /** The run that a suspended or broken one goes back to: the stable half of an idempotency key. */
  readonly originId: string
  readonly concurrency: number
  readonly timeoutMs: number
  readonly maxResultChars: number
  readonly maxOutputChars: number
  /** What people have allowed so far, for runs inside this one. */
  readonly granted?: (() => readonly string[]) | undefined
  /** That of the run around this one, if there is one. */
  readonly runSignal: AbortSignal | undefined
  readonly afterCall: AfterCall<Context> | undefined
  /** Told of each call that went wrong: not runnable, thrown, or out of time. */
  readonly onFailure: (name: string, reason: string) => void
}

/**
 * Runs the calls of one run. Every call handed in gets exactly one `tool-result`, or an `approval-request` and none yet;
 * nothing here throws.
 */
export interface ToolRuntime {
  /** Deals with a call as soon as it may run; does not wait for it. */
  submit(order: CallOrder): void
  /** True if the call was submitted since the last `roundOver`. */
  knows(callId: string): boolean
  /** Answers a call without running it. */
  refuse(call: ToolCallEvent, reason: string, status: CallStatus): void
  /** Resolves when every call that was submitted is answered or waits for a person. */
  settled(): Promise<void>
  /** The model has stopped talking: what runs from now on does not overlap it. */
  modelDone(): void
  /** All calls of the round are dealt with, or it was retracted: drops those that have not started. */
  roundOver(): void
  /** Starts no call any more; resolves when none is running. */
  hold(): Promise<void>
  /**
   * Ends everything at once: signals are aborted, unanswered calls are answered with `reason`, later results are not heard. What
   * calls have left running ends too, unless the run is over in good order. Runs that calls have started go on elsewhere if it does.
   */
  cancel(reason: string, options?: { readonly inOrder?: boolean; readonly goesOn?: boolean }): void
}

interface Ticket {
  readonly order: CallOrder
  state: 'pending' | 'running' | 'closed'
  startedAt: number
  /** When the tool itself was done; what a hook takes is not its time. */
  endedAt?: number
  executing?: Executing
}

interface Result {
  readonly output: readonly ToolResultPart[]
  readonly isError: boolean
  readonly status: CallStatus
  readonly permission?: Permission | undefined
}

const wentWrong: ReadonlySet<CallStatus> = new Set(['failed', 'timeout', 'rejected'])

export function toolRuntime<Context>(options: RuntimeOptions<Context>): ToolRuntime {
  const { emit, commit, observe, watching, clock, runId, originId, context, repeats, guard, afterCall } =
    options
  const ending = runEnding(originId, options.runSignal)
  const pool = createPool(options.concurrency, clock.turn)
  /** The calls of the round, in the order in which they were handed in. */
  let tickets = new Map<string, Ticket>()
  /** How many of them are in each state: they are asked for with every answer. */
  let counts = { pending: 0, running: 0, closed: 0 }
  let modelDoneAt: number | undefined
  let waiters: { isOver: () => boolean; resolve: () => void }[] = []

  const isRunning = () => counts.running > 0
  const isBusy = () => counts.pending + counts.running > 0

  function enter(ticket: Ticket, state: Ticket['state']) {
    if (tickets.get(ticket.order.call.callId) === ticket) {
      counts[ticket.state]--
      counts[state]++
    }
    ticket.state = state
  }

  function wake() {
    for (const { isOver, resolve } of waiters) if (isOver()) resolve()
    waiters = waiters.filter(({ isOver }) => !isOver())
  }

  function until(isOver: () => boolean): Promise<void> {
    return isOver() ? Promise.resolve() : new Promise((resolve) => waiters.push({ isOver, resolve }))
  }

  function answer(ticket: Ticket, result: Result, shown = result.output) {
    if (ticket.state === 'closed') return
    const { callId, name } = ticket.order.call
    const ran = ticket.state === 'running'
    const endedAt = ticket.endedAt ?? clock.now()
    enter(ticket, 'closed')
    emit({
      type: 'tool-result',
      callId,
      name,
      output: result.output,
      ...(shown !== result.output && { shown }),
      status: result.status,
      isError: result.isError,
      ms: ran ? endedAt - ticket.startedAt : 0,
      overlapMs: ran ? Math.max(0, Math.min(endedAt, modelDoneAt ?? endedAt) - ticket.startedAt) : 0,
      ...(result.permission && { permission: result.permission }),
    })
    if (wentWrong.has(result.status)) options.onFailure(name, wordsOfResult(result.output))
    wake()
  }

  function answerText(ticket: Ticket, text: string, status: CallStatus, permission?: Permission) {
    answer(ticket, { output: [{ type: 'text', text }], isError: true, status, permission })
  }

  function consider(ticket: Ticket) {
    void andThen(admitCall(ticket.order, options), (admitted) => {
      if (ticket.state === 'closed') return
      switch (admitted.type) {
        case 'refused':
          return answerText(ticket, admitted.reason, admitted.status, admitted.permission)
        case 'ask':
          leave(ticket)
          emit(admitted.request)
          return wake()
        case 'ready':
          return enqueue(ticket, admitted)
      }
    })
  }

  /** It waits for a person now, and comes back as a new order when that has decided. */
  function leave(ticket: Ticket) {
    enter(ticket, 'closed')
    tickets.delete(ticket.order.call.callId)
  }

  /** What the rules say of something that a running call comes upon. */
  async function permits({ tool, input, judged }: Ready, access: Access): Promise<string | undefined> {
    if (!guard) return undefined
    const ruling = await guard.judge({ name: tool.name, input, access: [access] })
    if (ruling.decision === 'allow') return undefined
    if (ruling.decision === 'deny') return ruling.reason
    // Whoever agreed to the call has agreed to this as well.
    if (judged?.ruling.decision === 'ask' && judged.access?.some((one) => covers(one, access)))
      return undefined
    return `${ruling.reason}, which a person has to allow first: call the tool for that itself`
  }

  function enqueue(ticket: Ticket, prepared: Ready) {
    pool.add({ exclusive: prepared.tool.exclusive, start: () => run(ticket, prepared) })
  }

  async function run(ticket: Ticket, ready: Ready): Promise<void> {
    if (ticket.state === 'closed') return
    const { tool, input, value, judged } = ready
    const { call, attempt } = ticket.order
    const { callId } = call
    const timeoutMs = tool.timeoutMs ?? options.timeoutMs
    enter(ticket, 'running')
    ticket.startedAt = clock.now()
    emit({
      type: 'tool-start',
      callId,
      name: call.name,
      attempt,
      ...(!isSame(input, call.input) && { input }),
      ...(judged && { permission: permissionOf(judged.ruling) }),
    })
    if (commit) await commit()
    // Whoever was told of it may have cancelled the run, or somebody else has taken it over.
    if (ticket.state !== 'running') return
    let listening = true
    const report = (progress: { data: ReturnType<typeof toJson> } | { event: RunEvent }) => {
      if (listening && ticket.state === 'running') emit({ type: 'tool-progress', callId, ...progress })
    }
    const toolContext = {
      callId,
      runId,
      attempt,
      context,
      idempotencyKey: `${originId}:${callId}`,
      progress: (data: unknown) => report({ data: toJson(data) }),
      commit: async () => commit?.(),
      runSignal: ending.signal,
      permits: (access: Access) => permits(ready, access),
      [nestedRun]: {
        relay: (event: RunEvent) => report({ event }),
        observe,
        telemetry: watching && (() => watching.inside(callId)),
        guard,
        granted: options.granted,
        resumed: ticket.order.resumed,
      } satisfies NestedRun,
    }
    const execute = () => executeCall(tool, value, toolContext, { clock, timeoutMs })
    ticket.executing = watching ? watching.within(callId, execute) : execute()
    // The tool itself may have, before it first waited.
    if (ticket.state !== 'running')
      ticket.executing.abandon(new DOMException('the run is over', 'AbortError'))
    const execution = await ticket.executing.done
    // What it gave may be large, and the call is remembered until the round is over.
    delete ticket.executing
    listening = false
    ticket.endedAt = clock.now()
    if (ticket.state !== 'running') return
    const asked = execution.type === 'returned' && pendingRequests(execution.value)
    if (asked) return askInside(ticket, asked)
    const result = await finish(ticket, input, toResult(execution))
    // The hook may have taken its time.
    if (ticket.state !== 'running') return
    const shownChars = tool.maxResultChars ?? options.maxResultChars
    const output = cutParts(result.output, Math.max(shownChars, options.maxOutputChars))
    const note = tool.polling ? undefined : repeats?.record(call.name, input, output)
    const shown = cutParts(result.output, shownChars)
    answer(ticket, { ...result, output }, note ? [...shown, { type: 'text', text: note }] : shown)
  }

  /** The run inside the call is suspended: what it asks is asked here, under ids below the call's own. */
  function askInside(ticket: Ticket, requests: readonly ApprovalRequestEvent[]) {
    leave(ticket)
    for (const request of requests)
      emit({ ...request, callId: `${ticket.order.call.callId}/${request.callId}` })
    wake()
  }

  async function finish(ticket: Ticket, input: JsonObject, result: Result): Promise<Result> {
    if (!afterCall) return result
    const { callId, name } = ticket.order.call
    const { output, isError } = result
    try {
      const ms = (ticket.endedAt ?? clock.now()) - ticket.startedAt
      const replaced = await afterCall(
        { callId, runId, name, input: structuredClone(input), context },
        { output: structuredClone(output), isError, ms },
      )
      if (!replaced) return result
      if (!isObject(replaced) || !('output' in replaced))
        throw new TypeError('it must answer { output } or nothing')
      const status = replaced.isError === undefined ? result.status : replaced.isError ? 'failed' : 'ok'
      return { output: toParts(replaced.output), isError: replaced.isError ?? isError, status }
    } catch (error) {
      // Fail closed: the hook may be there to take secrets out.
      return failed(
        `The tool ran, but its result cannot be shown: the check after it failed (${messageOf(error)}).`,
      )
    }
  }

  function stopAll(reason: string, { inOrder = false, goesOn = false } = {}) {
    pool.clear()
    ending.over({ inOrder, reason })
    for (const ticket of tickets.values()) {
      // First the signal: what a sub-agent says of its end still belongs to the call.
      ticket.executing?.abandon(goesOn ? elsewhere(reason) : new DOMException(reason, 'AbortError'))
      answerText(ticket, reason, 'cancelled')
    }
  }

  return {
    submit(order) {
      const ticket: Ticket = { order, state: 'pending', startedAt: 0 }
      tickets.set(order.call.callId, ticket)
      counts.pending++
      // The model may be talking, and what is asked of the caller's hooks is no part of that.
      if (watching) watching.within(undefined, () => consider(ticket))
      else consider(ticket)
    },
    knows: (callId) => tickets.has(callId),
    refuse(call, reason, status) {
      answerText(
        { order: { call, tools: new Map(), attempt: 1 }, state: 'pending', startedAt: 0 },
        reason,
        status,
      )
    },
    settled: () => until(() => !isBusy()),
    hold() {
      pool.hold()
      return until(() => !isRunning())
    },
    modelDone() {
      modelDoneAt ??= clock.now()
    },
    roundOver() {
      pool.clear()
      for (const ticket of tickets.values()) ticket.state = 'closed'
      tickets = new Map()
      counts = { pending: 0, running: 0, closed: 0 }
      modelDoneAt = undefined
      wake()
    },
    cancel: stopAll,
  }
}

function toResult(execution: Execution): Result {
  switch (execution.type) {
    case 'returned':
      try {
        return { output: toParts(execution.value), isError: false, status: 'ok' }
      } catch (error) {
        return failed(`The tool failed: ${messageOf(error)}`)
      }
    case 'threw':
      return failed(`The tool failed: ${messageOf(execution.error)}`)
    case 'timed-out':
      return failed(`The tool did not finish within ${execution.timeoutMs} ms and was stopped.`, 'timeout')
    case 'abandoned':
      return failed('The tool was stopped.', 'cancelled')
  }
}

function isSame(a: JsonObject, b: JsonObject): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

function failed(text: string, status: CallStatus = 'failed'): Result {
  return { output: [{ type: 'text', text }], isError: true, status }
}
