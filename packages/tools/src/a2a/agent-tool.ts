import type { ApprovalRequestEvent, JsonObject, Tool, ToolContext } from 'millrace'
import { tool } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import {
  aFunction,
  anything,
  checkOptions,
  duration,
  invalidInput,
  isHandover,
  isObject,
  messageOf,
  nestedRunOf,
  pending,
  sleep,
  someText,
  systemClock,
  toJson,
  wholeNumber,
  yesOrNo,
} from 'millrace/internal'
import { toolNames } from '../mcp/names.ts'
import { headersProblem } from '../mcp/options.ts'
import type { A2aHeaders, Connection } from './connection.ts'
import { connectionTo, RemoteError, reasonOf } from './connection.ts'
import { relayedText } from './relayed-text.ts'
import type { RemoteCard } from './remote-card.ts'
import { readCard } from './remote-card.ts'
import { remoteTask, statusText } from './remote-task.ts'
import type { Part, StreamResponse, Task, TaskStatus } from './wire.ts'
import { errorCodes } from './wire.ts'

export interface A2aAgentOptions {
  /** The name of the tool. Defaults to the name in the agent card. */
  readonly name?: string | undefined
  /** What the model reads about the agent, in place of the card. */
  readonly description?: string | undefined
  /** Sent with each request, such as `authorization`. A function is called for each one. */
  readonly headers?: A2aHeaders | undefined
  /** The JSON-RPC endpoint, if it is not that of the card or at another origin than the card. */
  readonly endpoint?: string | undefined
  /** How long the card may take. Default: 30 s. */
  readonly connectMs?: number | undefined
  /** Timeout of a call. Default: none. */
  readonly timeoutMs?: number | undefined
  /** Requires approval before the agent is asked, as for any tool. */
  readonly approve?: boolean | undefined
  /** How much of an answer the model reads. Defaults to the agent's `maxResultChars`. */
  readonly maxResultChars?: number | undefined
  readonly fetch?: typeof fetch | undefined
}

const table: OptionTable<A2aAgentOptions> = {
  name: someText,
  description: someText,
  headers: (value) => typeof value !== 'function' && headersProblem(value),
  endpoint: urlProblem,
  connectMs: duration,
  timeoutMs: anything,
  approve: yesOrNo,
  maxResultChars: wholeNumber(1),
  fetch: aFunction,
}

function urlProblem(value: unknown) {
  const url = typeof value === 'string' ? URL.parse(value) : null
  return (
    !(url && /^https?:$/.test(url.protocol) && !url.username && !url.password) &&
    'must be a URL with http:// or https://, without credentials'
  )
}

const inputSchema = {
  type: 'object',
  properties: {
    prompt: {
      type: 'string',
      description:
        'The task, question or reply, with everything needed: the agent does not see this conversation',
    },
    newConversation: {
      type: 'boolean',
      description: 'Set it to true if the agent must not remember what it was asked before',
    },
  },
  required: ['prompt'],
  additionalProperties: false,
} as const satisfies JsonObject

interface Input {
  readonly prompt: string
  readonly newConversation?: boolean
}

/**
 * An agent on another server as a tool, over A2A 1.0. Reads the agent card at the URL, or that of
 * the agent at the URL. Rejects with an explanation if it cannot be read.
 */
export async function a2aAgent(url: string, options: A2aAgentOptions = {}): Promise<Tool> {
  const problem = urlProblem(url)
  if (problem) throw invalidInput('a2aAgent', `the URL of an agent ${problem}`)
  checkOptions(options, table, { op: 'a2aAgent', what: 'a2aAgent(): the option' })
  const {
    headers,
    endpoint,
    connectMs = 30_000,
    timeoutMs = Number.POSITIVE_INFINITY,
    fetch: given = fetch,
  } = options
  const { approve, maxResultChars } = options
  const signal = AbortSignal.timeout(Math.min(connectMs, 2 ** 31 - 1))
  const card = await readCard({ url, headers, fetch: given }, { endpoint, signal })
  const name = toolNames(undefined)(options.name ?? card.name)
  const remote = { name, card, connection: connectionTo({ url: card.endpoint, headers, fetch: given }) }
  return tool({
    name,
    description:
      options.description ??
      `Asks the agent '${card.name}', which remembers what it was asked before.\n${card.description}`,
    input: { jsonSchema: inputSchema },
    timeoutMs,
    approve,
    maxResultChars,
    // A call that was in flight asks for its task again, or sends the same message.
    repeat: 'safe',
    run: (input, context) => callAgent(input as unknown as Input, context, remote),
  })
}

interface Remote {
  readonly name: string
  readonly card: RemoteCard
  readonly connection: Connection
}

const maxFailures = 8
const firstRetryMs = 250
const maxRetryMs = 5000
const cancelMs = 5000
const goneCodes: ReadonlySet<number> = new Set([errorCodes.TASK_NOT_FOUND, errorCodes.UNSUPPORTED_OPERATION])

async function callAgent(
  input: Input,
  context: ToolContext,
  { name, card, connection }: Remote,
): Promise<unknown> {
  const { signal, idempotencyKey } = context
  const { relay = () => {}, resumed } = nestedRunOf(context)
  let known: Conversation = input.newConversation ? {} : readConversation(context, name)
  const task = remoteTask()
  const shown = relayedText(relay, card)
  const before = resumed?.events.find(({ type }) => type === 'run-start')
  let taskId = before?.type === 'run-start' ? before.runId : undefined
  if (resumed) shown.restore(resumed.events)

  function apply(response: StreamResponse) {
    const added = task.apply(response)
    if (task.id !== undefined && !shown.isOpen) {
      shown.open(task.id, { name, prompt: input.prompt, isResumed: taskId !== undefined })
      taskId = task.id
    }
    if (added === undefined) shown.set(task.text())
    else shown.add(added)
  }

  function message(parts: readonly Part[], more: object) {
    return {
      message: { role: 'ROLE_USER', parts, ...more },
      configuration: { returnImmediately: !card.hasStreaming },
    }
  }

  /** The first request of the call, or the same one again. */
  function send(): AsyncIterable<StreamResponse> {
    const { contextId, taskId: waiting } = known
    const ids = {
      messageId: idempotencyKey,
      ...(contextId && { contextId }),
      ...(waiting && { taskId: waiting }),
    }
    return exchange(message([{ text: input.prompt }], ids))
  }

  async function* exchange(params: object): AsyncGenerator<StreamResponse> {
    if (card.hasStreaming) yield* connection.stream('SendStreamingMessage', params, signal)
    else yield (await connection.call('SendMessage', params, signal)) as StreamResponse
  }

  async function* continueTask(id: string): AsyncGenerator<StreamResponse> {
    if (card.hasStreaming)
      try {
        for await (const response of connection.stream('SubscribeToTask', { id }, signal)) {
          yield response
          // The stream stays open until a reply arrives, which would have to be ours.
          if (task.isSettled) return
        }
        return
      } catch (error) {
        // It may have ended in the meantime, or not be able to be subscribed to.
        if (!(error instanceof RemoteError)) throw error
      }
    yield { task: (await connection.call('GetTask', { id }, signal)) as Task }
  }

  /** Sends the decisions of our user, if the task still waits for them. */
  async function* decide(id: string): AsyncGenerator<StreamResponse> {
    apply({ task: (await connection.call('GetTask', { id }, signal)) as Task })
    const asked = new Set(requestsIn(task.status).map(({ callId }) => callId))
    const made = (resumed?.decisions ?? []).filter(({ callId }) => asked.has(callId))
    if (made.length === 0) {
      if (!task.isSettled) yield* continueTask(id)
      return
    }
    const parts = made.map(({ type, remember: kept, request, ...decision }) => ({
      data: toJson({ ...decision, remember: kept?.for }),
    }))
    const ids = {
      messageId: `${idempotencyKey}:${made.map(({ callId }) => callId).join()}`,
      taskId: id,
      contextId: task.contextId,
    }
    yield* exchange(message(parts, ids))
    // From here on, they are part of the remote task.
    for (const decision of made) relay(decision)
  }

  function request(): AsyncIterable<StreamResponse> {
    if (taskId === undefined) return send()
    return resumed?.decisions.length ? decide(taskId) : continueTask(taskId)
  }

  async function follow(): Promise<void> {
    let [tries, failures] = [0, 0]
    for (;;) {
      let count = 0
      try {
        for await (const response of request()) {
          count++
          try {
            apply(response)
          } catch (error) {
            throw new RemoteError(0, `it sent something that is not A2A (${messageOf(error)})`)
          }
        }
        if (task.isSettled) return
        failures = 0
      } catch (error) {
        failures = count > 1 ? 0 : failures + 1
        if (signal.aborted || failures > maxFailures) throw error
        if (error instanceof RemoteError) {
          // The task that asked a question may have ended without our reply.
          const isGone: boolean = known.taskId !== undefined && goneCodes.has(error.code)
          if (taskId !== undefined || !isGone) throw error
          known = { contextId: known.contextId }
        }
      }
      // An agent that does not stream is polled, and each try has only its task.
      tries = count > 1 ? 0 : tries + 1
      const ms = Math.min(firstRetryMs * 2 ** tries, maxRetryMs)
      await sleep(ms, { clock: systemClock, signal })
      if (signal.aborted) throw signal.reason
    }
  }

  async function cancel() {
    if (taskId === undefined) return
    await connection.call('CancelTask', { id: taskId }, AbortSignal.timeout(cancelMs)).catch(() => {})
  }

  try {
    await follow()
  } catch (error) {
    if (signal.aborted) {
      if (!task.isSettled && !isHandover(signal.reason)) await cancel()
      throw signal.reason
    }
    throw new Error(`the agent '${name}' could not be asked: ${reasonOf(error)}`)
  }
  const state = task.status?.state
  const requests = state === 'TASK_STATE_INPUT_REQUIRED' ? requestsIn(task.status) : []
  const isQuestion = state === 'TASK_STATE_INPUT_REQUIRED' && requests.length === 0
  remember(context, name, { contextId: task.contextId, taskId: isQuestion ? taskId : undefined })
  if (requests.length > 0) {
    shown.end('suspended')
    // The run may be stopped while it waits.
    context.runSignal.addEventListener('abort', cancel, { once: true })
    return pending(requests)
  }
  shown.end(state === undefined || state === 'TASK_STATE_COMPLETED' || isQuestion ? 'completed' : 'failed')
  return resultOf(name, task, isQuestion)
}

function resultOf(name: string, task: ReturnType<typeof remoteTask>, isQuestion: boolean): unknown {
  const { status, message } = task
  const words = statusText(status)
  if (isQuestion)
    return `The agent '${name}' needs more information to continue. Reply with this tool.\n${words}`.trim()
  if (message || status?.state === 'TASK_STATE_COMPLETED') return task.result()
  const because = words ? `: ${words}` : ''
  const partial = task.text() && `\nIts answer so far: ${task.text()}`
  const ends: Readonly<Record<string, string>> = {
    TASK_STATE_CANCELED: 'was canceled by its server',
    TASK_STATE_REJECTED: 'rejected the task',
    TASK_STATE_AUTH_REQUIRED: 'needs credentials that it does not have: ask the user to sign in there',
  }
  throw new Error(`the agent '${name}' ${ends[status?.state ?? ''] ?? 'failed'}${because}${partial}`)
}

/** What a Millrace agent asks for. Other agents ask in words, which the model answers. */
function requestsIn(status: TaskStatus | undefined): ApprovalRequestEvent[] {
  return (status?.message?.parts ?? []).flatMap(({ data }): ApprovalRequestEvent[] => {
    if (!isObject(data)) return []
    const { type, callId, name, input, reason } = data
    if (type !== 'approval-request' && type !== 'result-request') return []
    if (typeof callId !== 'string' || typeof name !== 'string') return []
    return [
      {
        type: 'approval-request',
        callId,
        name,
        input: isObject(input) ? (toJson(input) as JsonObject) : {},
        ...(typeof reason === 'string' && { reason }),
        ...(type === 'result-request' && { wants: 'result' }),
      },
    ]
  })
}

interface Conversation {
  readonly contextId?: string | undefined
  /** A task that waits for a reply. */
  readonly taskId?: string | undefined
}

/** The conversation with a remote agent is part of the thread, so that it survives the process. */
function readConversation(context: ToolContext, name: string): Conversation {
  const { a2aAgents } = context.metadata()
  const known = isObject(a2aAgents) ? a2aAgents[name] : undefined
  if (!isObject(known)) return {}
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  return { contextId: text(known.contextId), taskId: text(known.taskId) }
}

function remember(context: ToolContext, name: string, { contextId, taskId }: Conversation) {
  try {
    context.updateMetadata({
      a2aAgents: { [name]: { contextId: contextId ?? null, taskId: taskId ?? null } },
    })
  } catch {
    // The metadata is full. The answer is worth more than the memory of the other agent.
  }
}
