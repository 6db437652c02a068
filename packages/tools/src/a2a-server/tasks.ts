import type { Thread } from 'millrace'
import { isMillraceError } from 'millrace'
import { isObject } from 'millrace/internal'
import { derivedId, findThread } from 'millrace/internal/server'
import type { Caller, FoundThread } from 'millrace/server'
import type { Task } from '../a2a/wire.ts'
import { isFinal } from '../a2a/wire.ts'
import type { CallAnswer, ClientMessage, StoredRequest } from './messages.ts'
import { accepts } from './messages.ts'
import { invalidParams, RpcError } from './rpc.ts'
import type { TaskFold, TaskRef } from './task-fold.ts'
import { taskFold } from './task-fold.ts'

/** A task as far as the log of its thread was read. */
export interface OpenTask {
  readonly thread: Thread
  readonly ref: TaskRef
  readonly fold: TaskFold
}

/** The tasks of one agent. A context is a thread, and a task is the answer to one of its inputs. */
export interface Tasks {
  /** Sends a message, or decides what a task waits for. */
  send(caller: Caller, message: ClientMessage, outputModes: readonly string[]): Promise<OpenTask>
  /** Throws `TASK_NOT_FOUND` for a task that does not exist, or that the caller may not see. */
  get(caller: Caller, id: unknown): Promise<OpenTask>
  /** The tasks of a context, the last one first. */
  list(caller: Caller, contextId: string): Promise<readonly TaskFold[]>
  /** Cancels a task. Others may have to end first, so the caller follows it to its end. */
  cancel(task: OpenTask): Promise<void>
}

const taskNotFound = (id: unknown) =>
  new RpcError('TASK_NOT_FOUND', `there is no task ${JSON.stringify(id)} for this caller and agent`)

const answerTypes = ['text/plain', 'application/json']

export function tasks(agent: string): Tasks {
  async function find(caller: Caller, id: unknown) {
    const [, threadId = '', number] = /^(.+)_(\d{1,15})$/.exec(typeof id === 'string' ? id : '') ?? []
    if (number === undefined) throw taskNotFound(id)
    const found = await caller.getThread(threadId).catch((error: unknown) => {
      throw isMillraceError(error) && error.code === 'not_found' ? taskNotFound(id) : error
    })
    if (found.info.agent !== agent) throw taskNotFound(id)
    return { ...found, input: Number(number) }
  }

  async function context(caller: Caller, { contextId, messageId }: ClientMessage): Promise<FoundThread> {
    // A message that is sent again without a context finds the thread that it created.
    const kind = contextId === undefined ? 'message' : 'context'
    const id = await derivedId('a2a', caller.user, agent, kind, contextId ?? messageId)
    const known = await findThread(caller, contextId ?? id, id)
    if (known) return ownContext(known)
    const metadata = contextId === undefined ? undefined : { a2aContext: contextId }
    try {
      return await caller.createThread({ id, agent, metadata })
    } catch (error) {
      // Another request has created it in the meantime.
      if (isMillraceError(error) && error.code === 'conflict') return caller.getThread(id)
      throw error
    }
  }

  function ownContext(found: FoundThread): FoundThread {
    if (found.info.agent !== agent)
      throw invalidParams(
        `this context belongs to the agent '${found.info.agent}': send the message to that one`,
      )
    return found
  }

  async function continueTask(caller: Caller, message: ClientMessage, key: string): Promise<OpenTask> {
    const { taskId, contextId, answers, content } = message
    const { thread, info, input } = await find(caller, taskId)
    const ref = taskRef(info, input)
    if (contextId !== undefined && contextId !== ref.contextId)
      throw invalidParams(`'message.contextId' is not the context of the task, which is '${ref.contextId}'`)
    const { fold } = await readTask(thread, ref)
    const isRepeated = (await thread.inputOf(key)) !== undefined
    const { state } = fold.status
    if (!isRepeated && answers.length === 0) {
      if (isFinal(state))
        throw new RpcError(
          'UNSUPPORTED_OPERATION',
          `this task has ended: to continue the conversation, send the message with contextId '${ref.contextId}' and without taskId`,
        )
      if (state === 'TASK_STATE_INPUT_REQUIRED')
        throw invalidParams(
          'this task waits for a decision, and text cannot approve: send a data part { "callId", "approved" } for each call in its status message. To say something else instead, send the message without taskId, which cancels the task',
        )
    }
    const { approvals } = await thread.state({ bytes: 0 })
    const isOpen = ({ callId }: CallAnswer) => approvals.some((request) => request.callId === callId)
    // First those that nothing waits for: they are rejected, or were made before.
    for (const answer of [...answers.filter((one) => !isOpen(one)), ...answers.filter(isOpen)])
      await decide(thread, answer)
    if (content && !isFinal(state)) await thread.send(content, { key, mode: 'steer' })
    return readTask(thread, ref)
  }

  return {
    async send(caller, message, outputModes) {
      const { messageId, answers, content, taskId } = message
      if (!answerTypes.some((type) => accepts(outputModes, type)))
        throw new RpcError(
          'CONTENT_TYPE_NOT_SUPPORTED',
          `'acceptedOutputModes' has none of ${answerTypes.join(', ')}, which are what this agent answers with`,
        )
      const key = `a2a:${messageId}`
      if (taskId !== undefined) return continueTask(caller, message, key)
      if (answers.length > 0 || !content)
        throw invalidParams("a decision needs 'message.taskId': the task that waits for it")
      const { thread, info } = await context(caller, message)
      const stored: StoredRequest = { messageId, ...(outputModes.length > 0 && { outputModes }) }
      const seq = await thread.send(content, {
        key,
        // It would otherwise wait for a decision that this client shows no interest in.
        mode: info.status === 'waiting' ? 'interrupt' : 'queue',
        request: { metadata: { a2a: { ...stored } } },
      })
      return readTask(thread, taskRef(info, seq))
    },

    async get(caller, id) {
      const { thread, info, input } = await find(caller, id)
      return readTask(thread, taskRef(info, input))
    },

    async list(caller, contextId) {
      const id = await derivedId('a2a', caller.user, agent, 'context', contextId)
      const found = await findThread(caller, contextId, id)
      if (!found || found.info.agent !== agent) return []
      const folds: TaskFold[] = []
      let isRunning = false
      await readEntries(found.thread, 0, (entry) => {
        const { seq, event } = entry
        if (event.type === 'run-start') isRunning = true
        if (event.type === 'run-end') isRunning = event.outcome === 'suspended'
        // A message that steers a run is a part of the task of that run.
        if (event.type === 'input' && event.mode !== 'correct' && !(isRunning && event.mode === 'steer'))
          folds.push(taskFold(taskRef(found.info, seq)))
        for (const fold of folds) fold.applyEntry(entry)
      })
      return folds.reverse()
    },

    async cancel({ thread, ref, fold }) {
      const { state } = fold.status
      if (isFinal(state)) throw new RpcError('TASK_NOT_CANCELABLE', `the task has ended: ${state}`)
      if (state !== 'TASK_STATE_SUBMITTED') {
        await thread.stop('canceled by the client')
        return
      }
      const { queued } = await thread.state({ bytes: 0 })
      if (queued.some(({ seq }) => seq > ref.input))
        throw new RpcError(
          'TASK_NOT_CANCELABLE',
          'the task has not started, and other messages of its context wait behind it: cancel those first',
        )
      // Only drops the message: another task of the context may be running.
      await thread.rewind(ref.input)
    },
  }
}

export function taskRef(
  { id, metadata }: Pick<FoundThread['info'], 'id' | 'metadata'>,
  input: number,
): TaskRef {
  const contextId = metadata?.a2aContext
  return { id: `${id}_${input}`, contextId: typeof contextId === 'string' ? contextId : id, input }
}

/** Folds what there is of a task so far. */
async function readTask(thread: Thread, ref: TaskRef): Promise<OpenTask> {
  const fold = taskFold(ref)
  let isTask = false
  await readEntries(thread, ref.input - 1, (entry) => {
    if (entry.seq === ref.input) isTask = entry.event.type === 'input'
    fold.applyEntry(entry)
    return !isTask || isFinal(fold.status.state)
  })
  if (!isTask) throw taskNotFound(ref.id)
  return { thread, ref, fold }
}

/** Reads a log up to its end, or until `take` returns true. */
async function readEntries(
  thread: Thread,
  from: number,
  take: (entry: Awaited<ReturnType<Thread['read']>>[number]) => boolean | void,
): Promise<void> {
  for (let after = from; ; ) {
    const page = await thread.read({ after })
    for (const entry of page) {
      if (take(entry)) return
      after = entry.seq
    }
    if (page.length === 0) return
  }
}

async function decide(thread: Thread, answer: CallAnswer): Promise<void> {
  const { callId } = answer
  try {
    if ('answer' in answer) await thread.approve(callId, answer.answer)
    else await thread.respond(callId, answer.output, { isError: answer.isError })
  } catch (error) {
    // Also for a call that does not exist.
    if (isMillraceError(error) && error.code === 'not_found') throw invalidParams(error.message)
    throw error
  }
}

/** The answer of `ListTasks`, for the tasks of one context. */
export function taskPage(folds: readonly TaskFold[], params: Readonly<Record<string, unknown>>) {
  const { status, statusTimestampAfter, includeArtifacts } = params
  const pageSize = Math.min(numberIn(params.pageSize, 'pageSize') || 50, 100)
  const start = numberIn(params.pageToken || 0, 'pageToken') ?? 0
  const historyLength = numberIn(params.historyLength, 'historyLength') ?? 0
  const after = statusTimestampAfter ? Date.parse(String(statusTimestampAfter)) : Number.NEGATIVE_INFINITY
  if (Number.isNaN(after)) throw invalidParams("'statusTimestampAfter' must be a time in ISO 8601")
  const found = folds.filter(
    ({ status: { state, timestamp = '' } }) =>
      (!status || status === 'TASK_STATE_UNSPECIFIED' || state === status) && Date.parse(timestamp) > after,
  )
  const page = found.slice(start, start + pageSize).map((fold): Task => {
    const { artifacts, ...task } = fold.task({ historyLength })
    return includeArtifacts === true ? { ...task, artifacts: artifacts ?? [] } : task
  })
  const next = start + pageSize < found.length ? `${start + pageSize}` : ''
  return { tasks: page, nextPageToken: next, pageSize, totalSize: found.length }
}

/** Reads an optional number, also if it is written as text. */
export function numberIn(value: unknown, what: string): number | undefined {
  if (value === undefined || value === null) return undefined
  const number = typeof value === 'string' && value ? Number(value) : value
  if (!Number.isSafeInteger(number) || Number(number) < 0)
    throw invalidParams(`'${what}' must be a whole number of at least 0`)
  return Number(number)
}

/** Reads an optional list of texts. */
export function textsIn(value: unknown, what: string): readonly string[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
    throw invalidParams(`'${what}' must be a list of strings`)
  return value
}

/** Reads an optional object. */
export function objectIn(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {}
  if (!isObject(value)) throw invalidParams(`'${what}' must be an object`)
  return value
}
