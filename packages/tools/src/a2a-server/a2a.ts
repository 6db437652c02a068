import type { JsonObject } from 'millrace'
import { isMillraceError } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import {
  anObject,
  checkOptions,
  closest,
  eventStreamHeaders,
  invalidInput,
  isObject,
  kindOf,
  someText,
} from 'millrace/internal'
import type { Frames, MountedProtocol, Protocol, ProtocolHost, Route, RouteContext } from 'millrace/server'
import { httpError } from 'millrace/server'
import { cardPath, isFinal } from '../a2a/wire.ts'
import { agentCard } from './card.ts'
import { readMessage } from './messages.ts'
import type { A2aPushOptions } from './push.ts'
import { pushNotifications, pushTable } from './push.ts'
import type { RpcId, RpcRequest } from './rpc.ts'
import {
  checkVersion,
  httpErrorResponse,
  idOf,
  RpcError,
  readRpc,
  requestError,
  rpcError,
  rpcResult,
} from './rpc.ts'
import type { OpenTask } from './tasks.ts'
import { numberIn, objectIn, taskPage, tasks, textsIn } from './tasks.ts'

export interface A2aOptions {
  /** The agent of `/a2a` and `/.well-known/agent-card.json`. Defaults to the first agent of the server. */
  readonly agent?: string | undefined
  /**
   * The address at which clients reach the server, if it is behind a proxy: `https://example.org`.
   * Defaults to that of the request for the card.
   */
  readonly url?: string | undefined
  /** Fields of the agent cards by the name of the agent, in place of those made from the agent. */
  readonly cards?: Readonly<Record<string, JsonObject>> | undefined
  /** Push notifications. Without it, clients cannot ask for them. */
  readonly push?: A2aPushOptions | undefined
}

const table: OptionTable<A2aOptions> = {
  agent: someText,
  url: (value) =>
    !(typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)) &&
    'must be a URL with http:// or https://',
  cards: (value) =>
    anObject(value) ||
    (Object.values(value as object).some((card) => !isObject(card)) && 'must have an object for each agent'),
  push: (value) => anObject(value),
}

/** Clients send files in messages. */
const bodyBytes = 32 * 1024 * 1024
const path = '/a2a'

/**
 * The agents as A2A 1.0 agents, for `serve({ protocols: [a2a()] })`: JSON-RPC at `/a2a` and
 * `/a2a/NAME`, with a public agent card each. Throws `invalid_input` for invalid options.
 */
export function a2a(options: A2aOptions = {}): Protocol {
  if (!isObject(options as unknown))
    throw invalidInput('a2a', `a2a() takes an object of options, not ${kindOf(options)}`)
  checkOptions(options, table, { op: 'a2a', what: 'the option' })
  if (options.push) checkOptions(options.push, pushTable, { op: 'a2a', what: 'the option push.' })
  return { name: 'a2a', mount: (host) => endpoint(options, host) }
}

function endpoint({ agent, url, cards = {}, push }: A2aOptions, host: ProtocolHost): MountedProtocol {
  const { agents } = host
  for (const name of [...Object.keys(cards), ...(agent === undefined ? [] : [agent])])
    if (!agents.includes(name)) {
      const like = closest(name, agents)
      throw invalidInput(
        'a2a',
        `there is no agent '${name}'. ${like ? `Did you mean '${like}'?` : `The server has: ${agents.join(', ')}`}`,
      )
    }
  const defaultAgent = agent ?? (agents[0] as string)
  const served = new Map(agents.map((name) => [name, tasks(name)]))
  const closing = new AbortController()
  const notifications = push && pushNotifications(push, host)

  function agentOf({ params }: Pick<RouteContext, 'params'>): string {
    const { agent: name = defaultAgent } = params
    if (!served.has(name)) throw httpError(404, 'not_found', `there is no agent '${name}'`)
    return name
  }

  function card(call: RouteContext): Response {
    const name = agentOf(call)
    const base = (url ?? new URL(call.request.url).origin).replace(/\/+$/, '')
    const { description, starters } = host.describe(name)
    const made = agentCard({
      name,
      description,
      examples: starters,
      url: call.params.agent === undefined ? base + path : `${base}${path}/${encodeURIComponent(name)}`,
      hasPush: notifications !== undefined,
      hasAuth: host.authenticates,
      fields: cards[name],
    })
    return Response.json(made, { headers: { 'cache-control': 'public, max-age=300' } })
  }

  async function handle(call: RouteContext): Promise<Response> {
    const name = agentOf(call)
    let body: unknown
    try {
      body = await call.readJson()
    } catch (thrown) {
      if (!isMillraceError(thrown) || !(thrown.cause instanceof SyntaxError)) throw thrown
      return Response.json(rpcError(null, 'PARSE_ERROR', thrown.message), { status: 400 })
    }
    try {
      checkVersion(call.request)
      return await answer(readRpc(body), name, call)
    } catch (thrown) {
      const error = requestError(thrown)
      if (!error) throw thrown
      const id = isObject(body) ? idOf(body.id) : null
      return Response.json(rpcError(id, error.reason, error.message))
    }
  }

  async function answer(
    { id, method, params }: RpcRequest,
    name: string,
    call: RouteContext,
  ): Promise<Response> {
    const { caller } = call
    const agentTasks = served.get(name) as ReturnType<typeof tasks>
    const reply = (result: unknown) => Response.json(rpcResult(id, result))
    const stream = (slot: ReturnType<RouteContext['openStream']>, task: OpenTask, more: FrameOptions) =>
      slot.follow(task.thread, { after: task.fold.seq }, taskFrames(id, task, more))
    switch (method) {
      case 'SendMessage':
      case 'SendStreamingMessage': {
        const { message, outputModes, config, historyLength, returnImmediately } = readSend(params)
        await notifications?.check(config)
        if (config && !notifications) throw noPush()
        const isWaiting = method === 'SendMessage' && !returnImmediately
        // Before the message is sent: a request that is rejected must have no effect.
        const slot = method === 'SendMessage' && returnImmediately ? undefined : call.openStream()
        const task = await agentTasks.send(caller, message, outputModes)
        // A message that is sent again has the same configuration.
        const named = config && { ...config, id: config.id || message.messageId }
        if (named) notifications?.add(task.ref, task.thread.id, named, task.ref.input)
        if (slot && !isWaiting) return stream(slot, task, { historyLength })
        if (slot) await follow(task, [call.signal, slot.signal])
        const response = reply({ task: task.fold.task({ historyLength }) })
        return slot ? slot.wrap(response) : response
      }
      case 'GetTask': {
        const { fold } = await agentTasks.get(caller, params.id)
        return reply(fold.task({ historyLength: numberIn(params.historyLength, 'historyLength') }))
      }
      case 'ListTasks': {
        const { contextId } = params
        if (typeof contextId !== 'string' || contextId === '')
          throw new RpcError(
            'UNSUPPORTED_OPERATION',
            "only the tasks of one context are listed: set 'contextId'",
          )
        return reply(taskPage(await agentTasks.list(caller, contextId), params))
      }
      case 'CancelTask': {
        const slot = call.openStream()
        const task = await agentTasks.get(caller, params.id)
        await agentTasks.cancel(task)
        await follow(task, [call.signal, slot.signal], true)
        return slot.wrap(reply(task.fold.task()))
      }
      case 'SubscribeToTask': {
        const slot = call.openStream()
        const task = await agentTasks.get(caller, params.id)
        const { state } = task.fold.status
        if (isFinal(state))
          throw new RpcError('UNSUPPORTED_OPERATION', `the task has ended: ${state}. Get it with GetTask`)
        return stream(slot, task, { waits: true })
      }
      case 'CreateTaskPushNotificationConfig':
      case 'GetTaskPushNotificationConfig':
      case 'ListTaskPushNotificationConfigs':
      case 'DeleteTaskPushNotificationConfig': {
        if (!notifications) throw noPush()
        const { ref, thread, fold } = await agentTasks.get(caller, params.taskId)
        if (method === 'GetTaskPushNotificationConfig') return reply(notifications.get(ref, params.id))
        if (method === 'ListTaskPushNotificationConfigs')
          return reply({ configs: notifications.list(ref), nextPageToken: '' })
        if (method === 'DeleteTaskPushNotificationConfig') {
          notifications.remove(ref, params.id)
          return reply({})
        }
        await notifications.check(params)
        if (isFinal(fold.status.state))
          throw new RpcError('UNSUPPORTED_OPERATION', 'the task has ended: there is nothing to notify about')
        return reply(notifications.add(ref, thread.id, params, fold.seq))
      }
      case 'GetExtendedAgentCard':
        throw new RpcError('UNSUPPORTED_OPERATION', 'this agent has no extended card')
    }
    throw new RpcError('METHOD_NOT_FOUND', `there is no method '${method}' in A2A 1.0`)
  }

  /** Follows a task until it has ended or, unless only the end counts, waits for a decision. */
  async function follow({ thread, fold }: OpenTask, signals: readonly AbortSignal[], onlyEnd = false) {
    const isDone = () =>
      isFinal(fold.status.state) || (!onlyEnd && fold.status.state === 'TASK_STATE_INPUT_REQUIRED')
    if (isDone()) return
    const signal = AbortSignal.any([...signals, closing.signal])
    for await (const entry of thread.follow({ after: fold.seq, signal })) {
      fold.applyEntry(entry)
      if (isDone()) return
    }
  }

  const route = (path: string): Route[] => [
    { method: 'POST', path, bodyBytes, handle },
    { method: 'GET', path: `${path}/${cardPath}`, isPublic: true, handle: card },
  ]
  return {
    routes: [
      { method: 'GET', path: `/${cardPath}`, isPublic: true, handle: card },
      ...route(path),
      ...route(`${path}/:agent`),
    ],
    prefixes: [path],
    error: httpErrorResponse,
    async close() {
      closing.abort()
      await notifications?.close()
    },
  }
}

const noPush = () =>
  new RpcError(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    'this server sends no push notifications: stream or poll the task',
  )

function readSend(params: RpcRequest['params']) {
  const { acceptedOutputModes, historyLength, returnImmediately, taskPushNotificationConfig } = objectIn(
    params.configuration,
    'configuration',
  )
  const config =
    taskPushNotificationConfig === undefined || taskPushNotificationConfig === null
      ? undefined
      : objectIn(taskPushNotificationConfig, 'configuration.taskPushNotificationConfig')
  return {
    message: readMessage(params.message),
    outputModes: textsIn(acceptedOutputModes, 'configuration.acceptedOutputModes'),
    historyLength: numberIn(historyLength, 'historyLength'),
    returnImmediately: returnImmediately === true,
    config,
  }
}

interface FrameOptions {
  readonly historyLength?: number | undefined
  /** A task that waits for a decision is followed until it is made. */
  readonly waits?: boolean
}

function taskFrames(id: RpcId, { fold }: OpenTask, { historyLength, waits = false }: FrameOptions): Frames {
  const isAsking = () => fold.status.state === 'TASK_STATE_INPUT_REQUIRED'
  let isUndecided = waits && isAsking()
  const frame = (response: object) => `data: ${JSON.stringify(response)}\n\n`
  return {
    headers: eventStreamHeaders,
    open: () => frame(rpcResult(id, { task: fold.task({ historyLength }) })),
    entry(entry) {
      const updates = fold.applyEntry(entry)
      isUndecided &&= isAsking()
      return updates.map((update) => frame(rpcResult(id, update))).join('') || undefined
    },
    isDone: () => isFinal(fold.status.state) || (isAsking() && !isUndecided),
    fail: ({ message }) => frame(rpcError(id, 'REJECTED', message)),
    heartbeat: ': \n\n',
  }
}
