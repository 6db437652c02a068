import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import type {
  NewSessionRequest,
  PromptResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate,
} from '@agentclientprotocol/sdk'
import { client, ndJsonStream } from '@agentclientprotocol/sdk'
import type { Answer, Driver, Seen, TestServer } from '../protocol-client.ts'

/** A question of the agent, and how it is answered. */
interface Question {
  readonly name: string
  answer(response: RequestPermissionResponse): void
}

/** `millrace acp` in its own process, as an editor starts it. */
function startEditor(server: TestServer) {
  const { command, args, env } = server.stdio('acp')
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.on('error', () => {})
  const exited = once(child, 'exit')
  const updates: SessionUpdate[] = []
  const questions = new Set<Question>()
  const connection = client()
    .onNotification('session/update', ({ params }) => void updates.push(params.update))
    .onRequest('session/request_permission', ({ params, signal }) => ask(params, signal))
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as never))
  const ready = connection.agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} })

  function ask({ toolCall }: RequestPermissionRequest, signal: AbortSignal) {
    return new Promise<RequestPermissionResponse>((resolve) => {
      const question: Question = {
        name: toolCall.name ?? '',
        answer(response) {
          questions.delete(question)
          resolve(response)
        },
      }
      questions.add(question)
      signal.addEventListener('abort', () => question.answer({ outcome: { outcome: 'cancelled' } }))
    })
  }

  return {
    agent: connection.agent,
    ready,
    updates,
    questions,
    isGone: () => child.exitCode !== null || child.signalCode !== null,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async close() {
      child.stdin.end()
      await exited
    },
  }
}

/** The official SDK's client, with `millrace acp` in a process of its own. */
export const acp: Driver = {
  name: 'ACP',
  rejection: /^-32002: there is no/,
  async connect(server) {
    let editor = startEditor(server)
    const where: NewSessionRequest = { cwd: '/tmp', mcpServers: [] }
    let sessionId: string | undefined

    async function newSession() {
      await editor.ready
      return (await editor.agent.request('session/new', where)).sessionId
    }

    function follow(from: number, prompted?: Promise<PromptResponse>): Answer {
      const { updates, questions, agent } = editor
      let end: Pick<Seen, 'end' | 'error'> = {}
      let isCut = false
      prompted?.then(
        ({ stopReason }) => {
          end = { end: stopReason === 'cancelled' ? 'canceled' : 'completed' }
        },
        (error: Error) => {
          end = { end: 'failed', error: error.message }
        },
      )
      const answer: Answer = {
        seen() {
          const seen = seenIn(updates.slice(from))
          const asks = [...questions].map(({ name }) => name)
          if (isCut) return { ...seen, asks: [], end: 'cut' }
          // Without a prompt, only the end of the run says so.
          return { ...seen, asks, ...(prompted ? end : endIn(updates)) }
        },
        async cut() {
          isCut = true
          await editor.kill()
        },
        async cancel() {
          await agent.notify('session/cancel', { sessionId: sessionId as string })
        },
        async decide(approved) {
          const optionId = approved ? 'allow' : 'deny'
          for (const { answer } of questions) answer({ outcome: { outcome: 'selected', optionId } })
          return answer
        },
      }
      return answer
    }

    return {
      async send(text) {
        sessionId ??= await newSession()
        const from = editor.updates.length
        const prompt = [{ type: 'text' as const, text }]
        return follow(from, editor.agent.request('session/prompt', { sessionId, prompt }))
      },
      async resume() {
        if (editor.isGone()) editor = startEditor(server)
        await editor.ready
        editor.updates.length = 0
        await editor.agent.request('session/load', { ...where, sessionId: sessionId as string })
        return follow(0)
      },
      threadId: async () => sessionId as string,
      async open(threadId) {
        sessionId = threadId
      },
      async wrong() {
        await editor.ready
        const params = { ...where, sessionId: 'missing' }
        return editor.agent
          .request('session/load', params)
          .then(String, (error) => `${error.code}: ${error.message}`)
      },
      close: () => editor.close(),
    }
  },
}

function seenIn(updates: readonly SessionUpdate[]): Pick<Seen, 'text' | 'results'> {
  const asked = updates.findLastIndex(({ sessionUpdate }) => sessionUpdate === 'user_message_chunk')
  let text = ''
  const names = new Map<string, string>()
  const results: string[] = []
  for (const update of updates.slice(asked + 1)) {
    if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text')
      text += update.content.text
    if (update.sessionUpdate === 'tool_call') names.set(update.toolCallId, update.name ?? '')
    if (update.sessionUpdate !== 'tool_call' && update.sessionUpdate !== 'tool_call_update') continue
    if (update.status === 'completed') results.push(names.get(update.toolCallId) ?? '')
  }
  return { text, results }
}

/** How the last run ended, if none is in progress. */
function endIn(updates: readonly SessionUpdate[]): Pick<Seen, 'end' | 'error'> {
  const last = updates.findLast(
    (update) => update.sessionUpdate === 'user_message_chunk' || update._meta?.millrace !== undefined,
  )
  if (last?.sessionUpdate !== 'session_info_update') return {}
  const { run } = (last._meta as { millrace: { run: { outcome: string; error?: string } } }).millrace
  if (run.outcome === 'suspended') return {}
  if (run.outcome === 'completed') return { end: 'completed' }
  return { end: run.outcome === 'canceled' ? 'canceled' : 'failed', error: run.error }
}
