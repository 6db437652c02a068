import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import type { ApprovalRequestEvent } from 'millrace'
import { isMillraceError } from 'millrace'
import { findLast } from 'millrace/internal'
import type { Caller, FoundThread } from 'millrace/server'
import type { RunSummary } from 'millrace/view'
import { foldResult } from 'millrace/view'
import { decide, questionOf } from './approvals.ts'
import { progressFor, progressText } from './progress.ts'
import { answerResult, describeCall, textOf } from './results.ts'
import type { Sdk } from './sdk.ts'

// A task is the answer to an input of a thread. Nothing is stored for it, so it survives the
// process: its id names the thread and the input, and its state is in the log.

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export interface AgentTask extends FoundThread {
  readonly id: string
  /** The number of the input; 0 for everything that the thread is asked. */
  readonly input: number
}

export interface TaskState {
  readonly task: AgentTask
  readonly status: TaskStatus
  readonly message: string
  readonly createdAt: number
  readonly updatedAt: number
  /** What a person has to approve, with the status `input_required`. */
  readonly approvals: readonly ApprovalRequestEvent[]
  /** With a terminal status. */
  readonly result?: CallToolResult
}

export interface TasksOptions {
  readonly sdk: Sdk
  readonly heartbeatMs: number
  readonly pollMs: number
  /** Aborted when the server shuts down. */
  readonly closing: AbortSignal
}

export function taskOf(found: FoundThread, input = 0): AgentTask {
  return { ...found, input, id: `${found.info.id}.${input}` }
}

/** The caller's access to the thread decides about access to its tasks. */
export async function findTask({ ProtocolError }: Sdk, caller: Caller, id: string): Promise<AgentTask> {
  const [, thread = '', input] = /^(.+)\.(\d+)$/.exec(id) ?? []
  const found = await caller.getThread(thread).catch((error: unknown) => {
    if (isMillraceError(error) && error.code === 'not_found') return undefined
    throw error
  })
  if (found && Number(input) <= found.info.head) return taskOf(found, Number(input))
  throw new ProtocolError(-32602, `There is no task '${id}': call the tool again`)
}

/** Reads how far a task is. */
export async function readTask(task: AgentTask): Promise<TaskState> {
  const { thread, input } = task
  const progress = foldTask(task)
  // Asked for first: what is decided or started meanwhile is found in the log.
  const { approvals, status, queued } = await thread.state({ bytes: 0 })
  for (let after = Math.max(0, input - 1); ; ) {
    const entries = await thread.read({ after })
    for (const entry of entries) progress.applyEntry(entry)
    const last = entries.at(-1)
    if (!last) break
    after = last.seq
  }
  const isDropped = input > 0 && !queued.some(({ seq }) => seq === input)
  return progress.state(approvals, isDropped || status === 'idle')
}

function foldTask(task: AgentTask) {
  const fold = foldResult(task.input || undefined)
  const { info } = task
  let [createdAt, updatedAt] = [info.createdAt, info.updatedAt]
  let started = false
  let outcome: RunSummary['outcome'] | undefined
  let message = 'waiting to start'

  return {
    applyEntry(entry: Parameters<typeof fold.applyEntry>[0]) {
      if (entry.seq === task.input) createdAt = updatedAt = entry.at
      const change = fold.applyEntry(entry)
      if (!change) return undefined
      started = true
      updatedAt = entry.at
      if (change.run) outcome = change.run.outcome
      message = progressText(change) ?? (change.text ? 'answering' : message)
      return change
    },
    get outcome() {
      return outcome
    },
    get started() {
      return started
    },
    /** `isOver`: no run will read the input, unless one has. */
    state(approvals: readonly ApprovalRequestEvent[], isOver: boolean): TaskState {
      const base = { task, createdAt, updatedAt, message, approvals: [] }
      const hasOutcome = outcome !== undefined && outcome !== 'suspended'
      const hasEnded = hasOutcome || (!started && isOver)
      // Also while other calls run: all questions must be answered before the task can end.
      if (!hasEnded && approvals.length > 0)
        return { ...base, status: 'input_required', approvals, message: waitingText(approvals) }
      // Suspended without a question: a decision was made, and a worker is about to continue.
      if (!hasEnded) return { ...base, status: 'working' }
      const summary = fold.result()
      const result = answerResult({ agent: info.agent, thread: info.id }, summary)
      const status =
        summary.outcome === 'canceled'
          ? 'cancelled'
          : summary.outcome === 'completed'
            ? 'completed'
            : 'failed'
      return { ...base, status, message: result.isError ? textOf(result) : 'done', result }
    },
  }
}

const waitingText = (approvals: readonly ApprovalRequestEvent[]) =>
  `A person has to approve: ${approvals.map(describeCall).join('; ')}`

/** The status of a task at each change, and at first. Ends with the task, or with the signal. */
export async function* taskChanges(task: AgentTask, signal: AbortSignal): AsyncGenerator<TaskState> {
  let last: TaskState['status'] | undefined
  const { head } = await task.thread.info()
  const update = async () => {
    const state = await readTask(task)
    const isNew = state.status !== last
    last = state.status
    return isNew ? state : undefined
  }
  const first = await update()
  if (first) yield first
  if (first?.result) return
  for await (const { event } of task.thread.follow({ after: head, signal })) {
    if (!/^(run-|approval|stop|rewind)/.test(event.type)) continue
    const state = await update()
    if (state) yield state
    if (state?.result) return
  }
}

/** Stops the run that answers the input. If it has not started, only the input is dropped. */
export async function cancelTask({ ProtocolError }: Sdk, { id, thread, input }: AgentTask): Promise<void> {
  const { queued, run } = await thread.state({ bytes: 0 })
  const isQueued = queued.some(({ seq }) => seq === input)
  if (!isQueued || run === undefined || run.outcome !== undefined) {
    await thread.stop('canceled by the MCP client')
    return
  }
  if (queued.some(({ seq }) => seq > input))
    throw new ProtocolError(
      -32603,
      `The task '${id}' has not started, and others of its thread wait behind it: cancel those first`,
    )
  await thread.rewind(input)
}

/**
 * Waits for the result of a task, with progress from its start. Meanwhile it asks the client's user, if
 * there is one (2025-11-25, `tasks/result`). Undefined if the request or the server ends first.
 */
export async function awaitTask(
  task: AgentTask,
  { request, canAsk }: { readonly request: ServerContext['mcpReq']; readonly canAsk: boolean },
  { sdk, heartbeatMs, closing }: TasksOptions,
): Promise<CallToolResult | undefined> {
  const { thread, input } = task
  const ended = new AbortController()
  const signal = AbortSignal.any([request.signal, closing, ended.signal])
  const progress = progressFor(request, heartbeatMs, {
    'io.modelcontextprotocol/related-task': { taskId: task.id },
  })
  const fold = foldTask(task)
  const questions = new Map<string, AbortController>()

  async function ask(approval: ApprovalRequestEvent) {
    if (questions.has(approval.callId)) return
    const question = new AbortController()
    questions.set(approval.callId, question)
    const params = {
      ...questionOf(task.info.agent, approval),
      _meta: { 'io.modelcontextprotocol/related-task': { taskId: task.id } },
    }
    const options = { signal: AbortSignal.any([question.signal, signal]), timeout: 2 ** 31 - 1 }
    // On the stream of this request: there may be no other.
    const answer = await request
      .send({ method: 'elicitation/create', params }, options)
      .catch(() => undefined)
    if (answer) await decide(sdk, thread, { [approval.callId]: answer })
  }

  try {
    const first = await readTask(task)
    if (first.status === 'input_required' && canAsk) for (const one of first.approvals) void ask(one)
    if (first.status === 'cancelled') return first.result
    for await (const entry of thread.follow({ after: Math.max(0, input - 1), signal })) {
      const { event } = entry
      const change = fold.applyEntry(entry)
      if (change) progress?.update(change)
      // Another person decided first.
      if (event.type === 'approval') questions.get(event.callId)?.abort()
      if (event.type === 'approval-request' && canAsk && (change || !fold.started)) void ask(event)
      const isEnd = change?.run?.outcome !== undefined && change.run.outcome !== 'suspended'
      if (!isEnd && event.type !== 'stop' && event.type !== 'rewind') continue
      const { result } = await readTask(task)
      if (result) return result
    }
    return undefined
  } finally {
    ended.abort()
    progress?.end()
  }
}

/** The last task of each of the caller's threads. */
export async function listTasks(caller: Caller, cursor: string | undefined) {
  const { threads, next } = await caller.listThreads({ limit: 20, ...(cursor !== undefined && { cursor }) })
  const states = await Promise.all(
    threads.map(async ({ id }) => {
      const found = await caller.getThread(id)
      const log = {
        threadId: id,
        store: { read: (_: string, options: object) => found.thread.read(options) },
      }
      const last = await findLast(log, found.info.head, ({ event }) => event.type === 'input')
      return last && readTask(taskOf(found, last.seq))
    }),
  )
  return { states: states.filter((state) => state !== undefined), next }
}

/** The form of 2025-11-25. */
export function oldTask({ task, status, message, createdAt, updatedAt }: TaskState, pollMs: number) {
  return {
    taskId: task.id,
    status,
    statusMessage: message,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    ttl: null,
    pollInterval: pollMs,
  }
}

/** The form of the extension of 2026-07-28. An error of the agent is a result there. */
export function newTask(state: TaskState, pollMs: number) {
  const { status, ttl, pollInterval, ...task } = { ...oldTask(state, pollMs) }
  return {
    ...task,
    status: status === 'failed' ? ('completed' as const) : status,
    ttlMs: ttl,
    pollIntervalMs: pollInterval,
  }
}

/** The same with what belongs to its status, for `tasks/get` and notifications. */
export function detailedTask(
  sdk: Sdk,
  state: TaskState,
  { canAsk, pollMs }: { canAsk: boolean; pollMs: number },
) {
  const task = newTask(state, pollMs)
  if (task.status === 'completed') return { ...task, result: state.result }
  if (task.status !== 'input_required') return task
  // Without a user to ask, a person has to decide elsewhere.
  if (!canAsk) return { ...task, status: 'working' as const }
  const requests = state.approvals.map((approval) => [
    approval.callId,
    sdk.inputRequired.elicit(questionOf(state.task.info.agent, approval)),
  ])
  return { ...task, inputRequests: Object.fromEntries(requests) }
}
