import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { AgentCard, Role, TaskState } from '@a2a-js/sdk'
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import { onTestFinished } from 'vitest'

/** What an agent of the official SDK does with a message. */
export type Script = (words: string, remote: RemoteScript, context: RequestContext) => Promise<void>

export interface RemoteScript {
  start(): void
  write(delta: string, append: boolean): void
  end(state: TaskState, words?: string): void
  /** Answers without a task. */
  reply(words: string): void
}

const textPart = (value: string) => ({
  content: { $case: 'text' as const, value },
  metadata: undefined,
  filename: '',
  mediaType: '',
})

/** An agent of the official SDK on a free port. Returns its URL, and the words it was sent. */
export async function sdkServer(script: Script, { streaming = true, fields = {} } = {}) {
  const words: string[] = []
  const canceled: string[] = []
  const buses = new Map<string, ExecutionEventBus>()
  const executor: AgentExecutor = {
    async execute(context, bus) {
      const [part] = context.userMessage.parts
      const said = part?.content?.$case === 'text' ? part.content.value : ''
      words.push(said)
      buses.set(context.taskId, bus)
      await script(said, remoteScript(context, bus), context)
      bus.finished()
    },
    async cancelTask(taskId) {
      canceled.push(taskId)
      const bus = buses.get(taskId)
      bus?.publish(statusOf({ taskId, contextId: '' }, TaskState.TASK_STATE_CANCELED))
      bus?.finished()
    },
  }
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return void response.end(JSON.stringify(card))
    const body = JSON.parse(await text(request))
    const context = new ServerCallContext({ requestedVersion: '1.0' })
    const answer = await handler.handle(body, context)
    if (!(Symbol.asyncIterator in answer)) {
      response.setHeader('content-type', 'application/json')
      return void response.end(JSON.stringify(answer))
    }
    response.setHeader('content-type', 'text/event-stream')
    try {
      for await (const event of answer) response.write(`data: ${JSON.stringify(event)}\n\n`)
      response.end()
    } catch (error) {
      const { code, message } = JsonRpcTransportHandler.mapToJSONRPCError(error)
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, error: { code, message } })}\n\n`)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = {
    name: 'Travel desk',
    description: 'Plans trips',
    version: '1',
    supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'plan', name: 'Plan', description: 'Plans a trip', tags: ['trips'] }],
    ...fields,
  }
  const handler = new JsonRpcTransportHandler(
    new DefaultRequestHandler(AgentCard.fromJSON(card), new InMemoryTaskStore(), executor),
  )
  return { url, words, canceled }
}

interface Ids {
  readonly taskId: string
  readonly contextId: string
}

function statusOf({ taskId, contextId }: Ids, state: TaskState, words?: string) {
  const message = words === undefined ? undefined : messageOf({ taskId, contextId }, words)
  return AgentEvent.statusUpdate({
    ...{ taskId, contextId, metadata: undefined },
    status: { state, message, timestamp: new Date().toISOString() },
  })
}

function messageOf(ids: Ids, words: string) {
  return {
    ...{ ...ids, messageId: crypto.randomUUID(), role: Role.ROLE_AGENT, parts: [textPart(words)] },
    ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
  }
}

function remoteScript(
  { taskId, contextId, userMessage }: RequestContext,
  bus: ExecutionEventBus,
): RemoteScript {
  const ids = { taskId, contextId }
  return {
    start() {
      const status = { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined }
      bus.publish(
        AgentEvent.task({
          id: taskId,
          contextId,
          status,
          artifacts: [],
          history: [userMessage],
          metadata: undefined,
        }),
      )
    },
    write(delta, append) {
      const artifact = {
        ...{ artifactId: 'plan', name: 'plan', description: '', parts: [textPart(delta)] },
        ...{ metadata: undefined, extensions: [] },
      }
      bus.publish(
        AgentEvent.artifactUpdate({ ...ids, artifact, append, lastChunk: false, metadata: undefined }),
      )
    },
    end: (state, words) => bus.publish(statusOf(ids, state, words)),
    reply: (words) => bus.publish(AgentEvent.message(messageOf({ taskId: '', contextId }, words))),
  }
}
