import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Answer, Driver, Seen } from '../protocol-client.ts'

/** MCP over HTTP, with the official client (SDK v1), whose calls run as tasks. */
export const mcp: Driver = {
  name: 'MCP',
  rejection: /-32602.*There is no task 'nothing\.1'/,
  async connect({ url }) {
    let threadId: string | undefined
    let connection = await openConnection(url)

    const call = async (input: { prompt?: string; thread?: string | undefined }) => {
      const params = { name: 'desk', arguments: input, task: { ttl: 3_600_000 } }
      const { task } = await connection.client.request(
        { method: 'tools/call', params },
        CreateTaskResultSchema,
      )
      threadId = task.taskId.replace(/\.\d+$/, '')
      return answerOf(connection, task.taskId)
    }

    return {
      send: (prompt) => call({ prompt, ...(threadId !== undefined && { thread: threadId }) }),
      async resume() {
        if (connection.isCut()) connection = await openConnection(url)
        return call({ thread: threadId })
      },
      threadId: async () => threadId as string,
      async open(thread) {
        threadId = thread
      },
      async wrong() {
        return connection.client.experimental.tasks
          .getTask('nothing.1')
          .then(JSON.stringify, (error: unknown) => String(error))
      },
      close: () => connection.client.close(),
    }
  },
}

interface Connection {
  readonly client: Client
  /** The question that the client shows, and who waits for the answer. */
  asked: { readonly message: string; answer(action: 'accept' | 'decline'): void } | undefined
  isCut(): boolean
}

async function openConnection(url: string): Promise<Connection> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
  let cut = false
  client.onclose = () => {
    cut = true
  }
  const connection: Connection = { client, asked: undefined, isCut: () => cut }
  client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
    return new Promise((resolve) => {
      const answer = (action: 'accept' | 'decline' | 'cancel') => {
        connection.asked = undefined
        resolve(action === 'accept' ? { action, content: {} } : { action })
      }
      connection.asked = { message: params.message, answer }
      // Another person decided.
      signal.addEventListener('abort', () => answer('cancel'))
    })
  })
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`))
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return connection
}

/** What the server reports besides text. */
const activity =
  /^(waiting to start|running (?<running>\w+)|(?<finished>\w+) finished|\w+ needs approval|\w+ failed: .*|still working)$/

function answerOf(connection: Connection, taskId: string): Answer {
  const { client } = connection
  const results: string[] = []
  let text = ''
  let end: Seen['end']
  let error: string | undefined
  const receiving = client.experimental.tasks
    .getTaskResult(taskId, CallToolResultSchema, {
      timeout: 600_000,
      onprogress({ message = '' }) {
        const found = activity.exec(message)
        if (!found) text += message
        else if (found.groups?.finished) results.push(found.groups.finished)
      },
    })
    .then(
      ({ structuredContent, content: [first], isError }) => {
        const { text: last, outcome } = structuredContent as { text: string; outcome: string }
        // Text that arrived before this answer was received is not repeated.
        if (!text.endsWith(last)) text = last
        if (isError && first?.type === 'text') error = first.text
        end = outcome === 'completed' ? 'completed' : outcome === 'canceled' ? 'canceled' : 'failed'
      },
      () => {
        end = 'cut'
      },
    )

  const answer: Answer = {
    seen() {
      const [, tool] = /wants to run (\w+)/.exec(connection.asked?.message ?? '') ?? []
      return { text, results, asks: tool ? [tool] : [], end, error }
    },
    async cut() {
      await client.close()
      await receiving
    },
    async cancel() {
      await client.experimental.tasks.cancelTask(taskId)
    },
    async decide(approved) {
      connection.asked?.answer(approved ? 'accept' : 'decline')
      return answer
    },
  }
  return answer
}
