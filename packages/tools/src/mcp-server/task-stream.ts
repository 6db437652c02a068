import { isObject } from 'millrace/internal'
import type { Caller } from 'millrace/server'
import { tasksExtension } from '../mcp/task-result.ts'
import { canAsk } from './approvals.ts'
import type { Sdk } from './sdk.ts'
import type { AgentTask } from './tasks.ts'
import { detailedTask, findTask, taskChanges } from './tasks.ts'

/** A request of 2026-07-28 to be notified about tasks. */
export interface TaskSubscription {
  readonly id: string | number
  readonly taskIds: readonly string[]
  readonly capabilities: Record<string, unknown>
}

/** The SDK handles `subscriptions/listen` itself, but does not know tasks. */
export function taskSubscriptionIn(body: Uint8Array | null): TaskSubscription | undefined {
  // Not parsed twice for other requests.
  const text = body && body.length < 100_000 ? new TextDecoder().decode(body) : ''
  if (!text.includes('"taskIds"') || !text.includes('subscriptions/listen')) return undefined
  try {
    const { id, method, params } = JSON.parse(text)
    const { taskIds } = params.notifications
    const capabilities = params._meta['io.modelcontextprotocol/clientCapabilities']
    const isValid = method === 'subscriptions/listen' && Array.isArray(taskIds) && isObject(capabilities)
    return isValid && taskIds.length > 0 ? { id, taskIds: taskIds.map(String), capabilities } : undefined
  } catch {
    // The SDK says what is wrong with it.
    return undefined
  }
}

interface StreamOptions {
  readonly sdk: Sdk
  readonly caller: Caller
  readonly pollMs: number
  readonly heartbeatMs: number
  /** Aborted when the client has disconnected or the server closes. */
  readonly signal: AbortSignal
}

/** Streams the state of tasks at first and whenever their status changes, until all have ended. */
export async function streamTasks(
  { id, taskIds, capabilities }: TaskSubscription,
  { sdk, caller, pollMs, heartbeatMs, signal }: StreamOptions,
): Promise<Response> {
  const { extensions } = capabilities
  if (!isObject(extensions) || extensions[tasksExtension] === undefined) {
    const data = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } }
    const error = { code: -32021, message: 'Missing required client capability', data }
    return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 })
  }
  const found = await Promise.all(
    taskIds.slice(0, 100).map((taskId) => findTask(sdk, caller, taskId).catch(() => [])),
  )
  const tasks: AgentTask[] = found.flat()
  const _meta = { [sdk.SUBSCRIPTION_ID_META_KEY]: id }
  const encoder = new TextEncoder()
  const ended = new AbortController()
  const stop = AbortSignal.any([signal, ended.signal])

  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (text: string) => {
        if (!ended.signal.aborted) controller.enqueue(encoder.encode(text))
      }
      const send = (message: object) =>
        write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
      const heartbeat = setInterval(() => write(': keepalive\n\n'), Math.min(heartbeatMs, 2 ** 31 - 1))
      const notifications = { taskIds: tasks.map(({ id }) => id) }
      send({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } })
      const following = tasks.map(async (task) => {
        for await (const state of taskChanges(task, stop)) {
          const asks = canAsk(capabilities)
          send({
            method: 'notifications/tasks',
            params: { ...detailedTask(sdk, state, { canAsk: asks, pollMs }), _meta },
          })
        }
      })
      void Promise.allSettled(following).then(() => {
        clearInterval(heartbeat)
        if (ended.signal.aborted) return
        send({ id, result: { resultType: 'complete', _meta } })
        ended.abort()
        controller.close()
      })
    },
    cancel: () => ended.abort(),
  })
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
  })
}
