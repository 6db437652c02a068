import type { StreamResponse, Task } from '@a2a-js/sdk'
import { Role, TaskState } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client'
import type { Agent } from 'millrace'
import type { ServerOptions } from 'millrace/server'
import { served } from '../../../millrace/src/server/server.test-kit.ts'
import type { A2aOptions } from './a2a.ts'
import { a2a } from './a2a.ts'

/** A server with A2A on a free port. */
export async function serving(
  agents: Agent | Record<string, Agent>,
  options: A2aOptions = {},
  server: ServerOptions = {},
) {
  const { app } = served(agents, { ...server, protocols: [a2a(options)] })
  const { url } = await app.listen()
  return { app, url }
}

/** The official client. The URL is that of the server, or of one agent of it. */
export function connect(
  url: string,
  { token, fetch: given = fetch }: { token?: string; fetch?: typeof fetch } = {},
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) =>
    given(input, {
      ...init,
      headers: { ...init?.headers, ...(token && { authorization: `Bearer ${token}` }) },
    })
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
  return new ClientFactory(options).createFromUrl(url.endsWith('/') ? url : `${url}/`)
}

type Message = NonNullable<Parameters<Client['sendMessage']>[0]['message']>

export function message(content: string | object, more: Partial<Message> = {}) {
  const part =
    typeof content === 'string'
      ? { $case: 'text' as const, value: content }
      : { $case: 'data' as const, value: content }
  return {
    tenant: '',
    metadata: undefined,
    configuration: undefined,
    message: {
      messageId: crypto.randomUUID(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ content: part, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more,
    },
  }
}

/** The text of all artifacts of a task. */
export function textOf(task: Task): string {
  return task.artifacts
    .flatMap(({ parts }) => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')))
    .join('')
}

export const stateOf = (task: Task) => TaskState[task.status?.state ?? TaskState.UNRECOGNIZED]

/** Sends a message and returns the task once it has ended or waits. */
export async function ask(client: Client, request: ReturnType<typeof message>): Promise<Task> {
  const result = await client.sendMessage(request)
  if (!('status' in result)) throw new Error('the answer is not a task')
  return result
}

/** The data parts of the messages in a stream and in the history of its tasks. */
export function dataIn(events: readonly StreamResponse[]): Record<string, unknown>[] {
  return events.flatMap(({ payload }) => {
    const messages = payload?.$case === 'statusUpdate' ? [payload.value.status?.message] : []
    return messages.flatMap((message) =>
      (message?.parts ?? []).flatMap(({ content }) => (content?.$case === 'data' ? [content.value] : [])),
    )
  })
}

export async function collect(events: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const all: StreamResponse[] = []
  for await (const event of events) all.push(event)
  return all
}

/** What a task asks for. */
export function requestsIn(task: Task): { readonly callId: string; readonly type: string }[] {
  return (task.status?.message?.parts ?? []).flatMap(({ content }) =>
    content?.$case === 'data' ? [content.value] : [],
  )
}
