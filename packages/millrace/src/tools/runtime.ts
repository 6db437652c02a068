import type { SharedBudget } from '../log/index.ts'
import type {
  ApprovalRequestEvent,
  CallStatus,
  Clock,
  JsonObject,
  Model,
  ObserveCall,
  Permission,
  RunEvent,
  RunTelemetry,
  ToolCallEvent,
  ToolProgressEvent,
  ToolResultPart,
} from '../protocol/index.ts'
import {
  invalidInput,
  isObject,
  messageOf,
  nameOf,
  spendOf,
  textOfResult,
  toJson,
  toNanos,
  toUsd,
} from '../protocol/index.ts'
import type { AdmitOptions, CallRequest, Ready } from './admit.ts'
import { admitCall, permissionOf } from './admit.ts'
import { cutParts, toParts } from './content.ts'
import { displayOf } from './display.ts'
import type { Execution, RunningCall } from './execute.ts'
import { executeCall } from './execute.ts'
import { handoverReason } from './handover.ts'
import { mapMaybeAsync } from './map-maybe-async.ts'
import type { Metadata, NestedRun } from './nested-run.ts'
import { nestedRun } from './nested-run.ts'
import { pendingRequests } from './pending.ts'
import type { Access } from './policy.ts'
import { covers } from './policy-chain.ts'
import type { Pool } from './pool.ts'
import { createPool } from './pool.ts'
import type { HookCall } from './prepare.ts'
import { createRunSignal } from './run-signal.ts'

/** Called after a tool call ran. `output`, anything a tool may return, replaces the result. */
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
  /** Resolves when the events so far are durable. No tool starts before that. */
  readonly commit: (() => Promise<void>) | undefined
  readonly observe?: ObserveCall | undefined
  readonly telemetry?: RunTelemetry | undefined
  /** The model of the run, for tools that need one. */
  readonly model?: (() => Model) | undefined
  readonly clock: Clock
  /** The first run of a chain of resumed runs: the stable part of idempotency keys. */
  readonly originId: string
  readonly concurrency: number
  readonly timeoutMs: number
  readonly maxResultChars: number
  readonly maxOutputChars: number
  /** The rules that people have allowed so far, for nested runs. */
  readonly granted?: (() => readonly string[]) | undefined
  /** What tools read and change with `context.metadata()` and `context.updateMetadata()`. */
  readonly metadata: Metadata
  /** The thread that the run belongs to. */
  readonly thread?: string | undefined
  /** What nested runs may spend. */
  readonly budget?: SharedBudget | undefined
  /** The signal of the parent run, if any. */
  readonly runSignal: AbortSignal | undefined
  readonly afterCall: AfterCall<Context> | undefined
  /** Called for each call that failed: it was invalid, threw, or timed out. */
  readonly onFailure: (name: string, reason: string) => void
}

/**
 * Runs the tool calls of one run. Every submitted call gets exactly one `tool-result`, or an
 * `approval-request` and no result yet. No method throws.
 */
export interface ToolRuntime {
  /** Runs a call as soon as possible, without waiting for it. */
  submit(request: CallRequest): void
  /** True if the call was submitted since the last `endRound`. */
  has(callId: string): boolean
  /** Emits a result for a call without running it. */
  reject(call: ToolCallEvent, reason: string, status: CallStatus): void
  /** Resolves when every submitted call has a result or waits for approval. */
  settled(): Promise<void>
  /** The generation has ended: tool time from now on does not overlap with it. */
  modelDone(): void
  /** The round has ended or was retracted: drops the calls that have not started. */
  endRound(): void
  /** Starts no more calls; resolves when none is running. */
  drain(): Promise<void>
  /**
   * Stops everything: aborts the signals, emits `reason` as the result of open calls, and ignores
   * later results. Background work of calls is aborted too, unless `keepBackground` is set. With
   * `handover`, nested runs are not canceled, since they continue in another process.
   */
  cancel(reason: string, options?: { readonly keepBackground?: boolean; readonly handover?: boolean }): void
}

interface CallTask {
  readonly request: CallRequest
  state: 'pending' | 'running' | 'closed'
  startedAt: number
  /** When the tool itself finished, without the time of the `afterCall` hook. */
  endedAt?: number
  /** What the call has cost so far, in nano-dollars, if it reported anything. */
  nanos?: number
  executing?: RunningCall
}

interface Result {
  readonly output: readonly ToolResultPart[]
  readonly isError: boolean
  readonly status: CallStatus
  readonly permission?: Permission | undefined
}

const failureStatuses: ReadonlySet<CallStatus> = new Set(['failed', 'timeout', 'rejected'])

export function toolRuntime<Context>(options: RuntimeOptions<Context>): ToolRuntime {
  const { emit, commit, observe, telemetry, clock, runId, originId, context, repeats, policies, afterCall } =
    options
  const runSignal = createRunSignal(originId, options.runSignal)
  let pool: Pool | undefined
  /** The calls of the round, in the order in which they were submitted. */
  let tasks = new Map<string, CallTask>()
  /** The number of calls in each state, since it is needed for every result. */
  let counts = { pending: 0, running: 0, closed: 0 }
  let modelDoneAt: number | undefined
  let waiters: { isDone: () => boolean; resolve: () => void }[] = []

  function poolOfRun(): Pool {
    pool ??= createPool(options.concurrency, clock.turn)
    return pool
  }

  const isRunning = () => counts.running > 0
  const isBusy = () => counts.pending + counts.running > 0

  function setState(task: CallTask, state: CallTask['state']) {
    if (tasks.get(task.request.call.callId) === task) {
      counts[task.state]--
      counts[state]++
    }
    task.state = state
  }

  function wake() {
    for (const { isDone, resolve } of waiters) if (isDone()) resolve()
    waiters = waiters.filter(({ isDone }) => !isDone())
  }

  function waitUntil(isDone: () => boolean): Promise<void> {
    return isDone() ? Promise.resolve() : new Promise((resolve) => waiters.push({ isDone, resolve }))
  }

  function emitResult(task: CallTask, result: Result, shown = result.output) {
    if (task.state === 'closed') return
    const { callId, name } = task.request.call
    const ran = task.state === 'running'
    const endedAt = task.endedAt ?? clock.now()
    setState(task, 'closed')
    emit({
      type: 'tool-result',
      callId,
      name,
      output: result.output,
      ...(shown !== result.output && { shown }),
      status: result.status,
      isError: result.isError,
      ms: ran ? endedAt - task.startedAt : 0,
      overlapMs: ran ? Math.max(0, Math.min(endedAt, modelDoneAt ?? endedAt) - task.startedAt) : 0,
      ...(result.permission && { permission: result.permission }),
      ...(task.nanos !== undefined && { cost: { usd: toUsd(task.nanos), prices: 'reported' } }),
    })
    if (failureStatuses.has(result.status)) options.onFailure(name, textOfResult(result.output))
    wake()
  }

  function emitTextResult(task: CallTask, text: string, status: CallStatus, permission?: Permission) {
    emitResult(task, { output: [{ type: 'text', text }], isError: true, status, permission })
  }

  function admit(task: CallTask) {
    void mapMaybeAsync(admitCall(task.request, options), (admitted) => {
      if (task.state === 'closed') return
      switch (admitted.type) {
        case 'rejected':
          return emitTextResult(task, admitted.reason, admitted.status, admitted.permission)
        case 'ask':
          release(task)
          emit(admitted.request)
          return wake()
        case 'ready':
          return admitted.tool.run ? enqueue(task, admitted) : runByClient(task, admitted)
      }
    })
  }

  /** The call waits for approval now. After the decision it is submitted again. */
  function release(task: CallTask) {
    setState(task, 'closed')
    tasks.delete(task.request.call.callId)
  }

  /** Checks an access that a running call discovers. */
  async function checkAccess(
    { tool, input, policyCheck }: Ready,
    access: Access,
  ): Promise<string | undefined> {
    if (!policies) return undefined
    const result = await policies.decide({ name: tool.name, input, access: [access] })
    if (result.decision === 'allow') return undefined
    if (result.decision === 'deny') return result.reason
    // The approval of the call includes this access.
    if (policyCheck?.result.decision === 'ask' && policyCheck.access?.some((one) => covers(one, access)))
      return undefined
    return `a person has to approve this first (${result.reason}): call the tool for it directly`
  }

  /** Asks a client for the result of the call, or takes the result that it sent. */
  function runByClient(task: CallTask, ready: Ready) {
    const { call, decision } = task.request
    if (decision?.output) {
      const { output, isError = false } = decision
      setState(task, 'running')
      task.startedAt = clock.now()
      return void close(task, ready, { output, isError, status: isError ? 'failed' : 'ok' })
    }
    release(task)
    emitStart(task, ready)
    const { callId, name } = call
    emit({ type: 'approval-request', callId, name, input: ready.input, wants: 'result' })
    wake()
  }

  function emitStart({ request }: CallTask, ready: Ready) {
    const { call, attempt, approvalRequest, decision } = request
    const { input, policyCheck } = ready
    emit({
      type: 'tool-start',
      callId: call.callId,
      name: call.name,
      attempt,
      ...(!isSame(input, call.input) && { input }),
      ...(policyCheck && { permission: permissionOf(policyCheck.result) }),
      ...(!(approvalRequest?.display && !decision?.input) && displayOf(ready)),
    })
  }

  function enqueue(task: CallTask, prepared: Ready) {
    poolOfRun().add({ exclusive: prepared.tool.exclusive, start: () => run(task, prepared) })
  }

  async function run(task: CallTask, ready: Ready): Promise<void> {
    if (task.state === 'closed') return
    const { tool, value } = ready
    const { call, attempt } = task.request
    const { callId } = call
    const timeoutMs = tool.timeoutMs ?? options.timeoutMs
    setState(task, 'running')
    task.startedAt = clock.now()
    emitStart(task, ready)
    if (commit) await commit()
    // In the meantime the run may have been canceled, or taken over by another process.
    if (task.state !== 'running') return
    let listening = true
    const report = (progress: Omit<ToolProgressEvent, 'type' | 'callId'>) => {
      if (listening && task.state === 'running') emit({ type: 'tool-progress', callId, ...progress })
    }
    const { metadata } = options
    const updateMetadata = (patch: JsonObject) => {
      if (!listening || task.state !== 'running')
        throw invalidInput(
          'context.updateMetadata',
          `the call '${callId}' has ended: it can no longer change metadata`,
        )
      metadata.update(patch)
    }
    const toolContext = {
      callId,
      runId,
      attempt,
      context,
      idempotencyKey: `${originId}:${callId}`,
      progress: (data: unknown) => report({ data: toJson(data) }),
      metadata: () => structuredClone(metadata.current()),
      updateMetadata,
      spend(cost: { readonly usd: number }) {
        task.nanos = (task.nanos ?? 0) + nanosOf(cost)
      },
      commit: async () => commit?.(),
      runSignal: runSignal.signal(),
      checkAccess: (access: Access) => checkAccess(ready, access),
      [nestedRun]: {
        model: options.model,
        thread: options.thread,
        relay: (event: RunEvent, agent?: string) =>
          report({
            event,
            ...(spendOf(event) && { name: call.name, ...(agent !== undefined && { agent }) }),
          }),
        observe,
        telemetry: telemetry && (() => telemetry.nested(callId)),
        policies,
        granted: options.granted,
        budget: options.budget,
        metadata: { current: metadata.current, update: updateMetadata },
        resumed: task.request.resumed,
      } satisfies NestedRun,
    }
    const run = tool.run as NonNullable<typeof tool.run>
    const execute = () => executeCall(run, value, toolContext, { clock, timeoutMs })
    task.executing = telemetry ? telemetry.runInContext(callId, execute) : execute()
    // The tool itself may have canceled the run before its first await.
    if (task.state !== 'running') task.executing.abandon(new DOMException('the run has ended', 'AbortError'))
    const execution = await task.executing.done
    // The result may be large, and the task is kept until the round ends.
    delete task.executing
    listening = false
    task.endedAt = clock.now()
    if (task.state !== 'running') return
    const requests = execution.type === 'returned' && pendingRequests(execution.value)
    if (requests) return relayRequests(task, requests)
    await close(task, ready, toResult(execution))
  }

  /** Emits the result of a call, after the `afterCall` hook. */
  async function close(task: CallTask, { tool, input }: Ready, given: Result): Promise<void> {
    const result = await finish(task, input, given)
    // The call may have been canceled while the hook ran.
    if (task.state !== 'running') return
    const shownChars = tool.maxResultChars ?? options.maxResultChars
    const output = cutParts(result.output, Math.max(shownChars, options.maxOutputChars))
    const note = tool.polling ? undefined : repeats?.record(tool.name, input, output)
    const shown = cutParts(result.output, shownChars)
    emitResult(task, { ...result, output }, note ? [...shown, { type: 'text', text: note }] : shown)
  }

  /** The nested run is suspended: relays its approval requests with the call's id as prefix. */
  function relayRequests(task: CallTask, requests: readonly ApprovalRequestEvent[]) {
    release(task)
    for (const request of requests)
      emit({ ...request, callId: `${task.request.call.callId}/${request.callId}` })
    wake()
  }

  async function finish(task: CallTask, input: JsonObject, result: Result): Promise<Result> {
    if (!afterCall) return result
    const { callId, name } = task.request.call
    const { output, isError } = result
    try {
      const ms = (task.endedAt ?? clock.now()) - task.startedAt
      const replaced = await afterCall(
        { callId, runId, name, input: structuredClone(input), context },
        { output: structuredClone(output), isError, ms },
      )
      if (!replaced) return result
      if (!isObject(replaced) || !('output' in replaced))
        throw new TypeError('it must return { output } or nothing')
      const status = replaced.isError === undefined ? result.status : replaced.isError ? 'failed' : 'ok'
      return { output: toParts(replaced.output), isError: replaced.isError ?? isError, status }
    } catch (error) {
      // Fails closed: the hook may be there to remove secrets.
      return failed(
        `The tool ran, but its result cannot be shown: the check after it failed (${messageOf(error)}).`,
      )
    }
  }

  function stopAll(reason: string, { keepBackground = false, handover = false } = {}) {
    pool?.clear()
    runSignal.end({ keepBackground, reason })
    for (const task of tasks.values()) {
      // Abort first: the last events of a sub-agent still belong to the call.
      task.executing?.abandon(handover ? handoverReason(reason) : new DOMException(reason, 'AbortError'))
      emitTextResult(task, reason, 'canceled')
    }
  }

  return {
    submit(request) {
      const task: CallTask = { request, state: 'pending', startedAt: 0 }
      tasks.set(request.call.callId, task)
      counts.pending++
      // Hooks must not run inside the trace of the model call, which may be in progress.
      if (telemetry) telemetry.runInContext(undefined, () => admit(task))
      else admit(task)
    },
    has: (callId) => tasks.has(callId),
    reject(call, reason, status) {
      emitTextResult(
        { request: { call, tools: new Map(), attempt: 1 }, state: 'pending', startedAt: 0 },
        reason,
        status,
      )
    },
    settled: () => waitUntil(() => !isBusy()),
    drain() {
      poolOfRun().stop()
      return waitUntil(() => !isRunning())
    },
    modelDone() {
      modelDoneAt ??= clock.now()
    },
    endRound() {
      modelDoneAt = undefined
      pool?.clear()
      if (tasks.size > 0) {
        for (const task of tasks.values()) task.state = 'closed'
        tasks = new Map()
        counts = { pending: 0, running: 0, closed: 0 }
      }
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
      return failed('The tool was stopped.', 'canceled')
  }
}

function nanosOf(cost: { readonly usd: number }): number {
  const usd: unknown = isObject(cost) ? cost.usd : undefined
  if (typeof usd !== 'number' || !Number.isFinite(usd) || usd < 0)
    throw invalidInput(
      'context.spend',
      `context.spend() takes { usd }, a number of at least 0, not ${isObject(cost) ? `{ usd: ${nameOf(usd)} }` : nameOf(cost)}`,
    )
  return toNanos(usd)
}

function isSame(a: JsonObject, b: JsonObject): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

function failed(text: string, status: CallStatus = 'failed'): Result {
  return { output: [{ type: 'text', text }], isError: true, status }
}
