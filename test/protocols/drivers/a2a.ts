import type { StreamResponse, Task } from '@a2a-js/sdk'
import { Role, TaskState } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { ClientFactory } from '@a2a-js/sdk/client'
import type { Answer, Driver, Seen } from '../protocol-client.ts'

/** A2A 1.0, with the official client. */
export const a2a: Driver = {
  name: 'A2A',
  rejection: /^there is no task "missing"/,
  async connect({ url }) {
    const client = await new ClientFactory().createFromUrl(url)
    const conversation: Conversation = { client, contextId: '' }

    return {
      send: async (text) => receive(conversation, sendParts(conversation, [{ $case: 'text', value: text }])),
      async resume() {
        const { contextId } = conversation
        const { tasks } = await client.listTasks({
          ...{ tenant: '', contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '' },
          ...{ statusTimestampAfter: undefined, pageSize: 1 },
        })
        const id = tasks[0]?.id ?? ''
        return receive(conversation, (signal) => subscribe(client, id, signal))
      },
      threadId: async () => conversation.contextId,
      async open(threadId) {
        conversation.contextId = threadId
      },
      wrong: () =>
        client.getTask({ tenant: '', id: 'missing' }).then(
          () => '',
          ({ message }: Error) => message,
        ),
      async close() {},
    }
  },
}

interface Conversation {
  readonly client: Client
  contextId: string
}

type Events = (signal: AbortSignal) => AsyncIterable<StreamResponse>
type Content = NonNullable<NonNullable<Task['status']>['message']>['parts'][number]['content']

function sendParts({ client, contextId }: Conversation, contents: readonly Content[], taskId = ''): Events {
  const parts = contents.map((content) => ({ content, metadata: undefined, filename: '', mediaType: '' }))
  const message = {
    ...{ messageId: crypto.randomUUID(), role: Role.ROLE_USER, parts, contextId, taskId },
    ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
  }
  return (signal) =>
    client.sendMessageStream(
      { tenant: '', message, configuration: undefined, metadata: undefined },
      { signal },
    )
}

/** The rest of a task, or all of it if it has ended. */
async function* subscribe(client: Client, id: string, signal: AbortSignal): AsyncIterable<StreamResponse> {
  try {
    yield* client.resubscribeTask({ tenant: '', id }, { signal })
  } catch (error) {
    if (!/has ended/.test(String(error))) throw error
    yield { payload: { $case: 'task', value: await client.getTask({ tenant: '', id }) } }
  }
}

const ends: { readonly [State in TaskState]?: Seen['end'] } = {
  [TaskState.TASK_STATE_COMPLETED]: 'completed',
  [TaskState.TASK_STATE_CANCELED]: 'canceled',
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_INPUT_REQUIRED]: 'waiting',
}

function receive(conversation: Conversation, events: Events): Answer {
  const { client } = conversation
  const connection = new AbortController()
  const artifacts = new Map<string, string>()
  const results = new Map<string, string>()
  const started = Promise.withResolvers<string>()
  let status: Task['status']
  let hasEnded = false
  let isCut = false

  const reading = (async () => {
    for await (const { payload } of events(connection.signal)) {
      if (payload?.$case === 'task') {
        const { id, contextId, history } = payload.value
        conversation.contextId = contextId
        started.resolve(id)
        for (const artifact of payload.value.artifacts) addArtifact(artifact, false)
        for (const message of history) addResults(message.parts)
        status = payload.value.status
      } else if (payload?.$case === 'artifactUpdate' && payload.value.artifact)
        addArtifact(payload.value.artifact, payload.value.append)
      else if (payload?.$case === 'statusUpdate') {
        status = payload.value.status
        addResults(status?.message?.parts ?? [])
      }
    }
  })()
    .catch(() => {
      isCut = true
    })
    .finally(() => {
      hasEnded = true
    })

  function addArtifact({ artifactId, parts }: Task['artifacts'][number], append: boolean) {
    const text = parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
    artifacts.set(artifactId, (append ? (artifacts.get(artifactId) ?? '') : '') + text)
  }

  function addResults(parts: readonly { content?: Content }[]) {
    for (const { type, callId, name, isError } of dataOf(parts))
      if (type === 'tool-result' && !isError) results.set(callId, name)
  }

  const requests = () =>
    dataOf(status?.message?.parts ?? []).filter(({ type }) => type === 'approval-request')

  return {
    seen() {
      const end = ends[status?.state ?? TaskState.UNRECOGNIZED]
      const message = status?.message?.parts[0]?.content
      return {
        text: [...artifacts.values()].join(''),
        results: [...results.values()],
        asks: requests().map(({ name }) => name),
        end: !hasEnded ? undefined : isCut ? 'cut' : (end ?? 'cut'),
        error: end === 'failed' && message?.$case === 'text' ? message.value : undefined,
      }
    },
    async cut() {
      connection.abort()
      await reading
    },
    async cancel() {
      await client.cancelTask({ tenant: '', id: await started.promise, metadata: undefined })
    },
    async decide(approved) {
      const decisions = requests().map(
        ({ callId }): Content => ({ $case: 'data', value: { callId, approved } }),
      )
      return receive(conversation, sendParts(conversation, decisions, await started.promise))
    },
  }
}

interface CallData {
  readonly type: string
  readonly callId: string
  readonly name: string
  readonly isError?: boolean
}

function dataOf(parts: readonly { content?: Content }[]): CallData[] {
  return parts.flatMap(({ content }) => (content?.$case === 'data' ? [content.value as CallData] : []))
}
