import type { Interrupt, Message, RunAgentParameters } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { derivedId } from '../../../packages/millrace/src/protocols/derived-id.ts'
import type { Answer, Driver, Seen } from '../protocol-client.ts'

/** AG-UI, with its `HttpAgent`, which is behind CopilotKit. */
export const agUi: Driver = {
  name: 'AG-UI',
  rejection: /^HTTP 400: .*'runId' must be text/,
  async connect({ url }) {
    const address = `${url}/ag-ui/desk`
    let agent = new HttpAgent({ url: address })
    let opened: string | undefined
    return {
      async send(content) {
        agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
        return answerOf(agent)
      },
      async resume() {
        // As after a reload. Otherwise the client insists on an answer to what it was asked.
        agent.pendingInterrupts = []
        return answerOf(agent)
      },
      threadId: async () => opened ?? derivedId('ag-ui', undefined, 'desk', agent.threadId),
      async open(threadId) {
        opened = threadId
        agent = new HttpAgent({ url: address, threadId })
      },
      async wrong() {
        const broken = new HttpAgent({
          url: address,
          fetch: (input, init) => fetch(input, { ...init, body: '{"threadId":"t","messages":[]}' }),
        })
        return broken.runAgent().then(
          () => '',
          (error: Error) => error.message,
        )
      },
      async close() {
        agent.abortRun()
      },
    }
  },
}

/** Runs the agent. The messages of the answer are those after the last one of the user. */
function answerOf(agent: HttpAgent, parameters: RunAgentParameters = {}): Answer {
  const connection = new AbortController()
  let interrupts: readonly Interrupt[] = []
  let end: Seen['end']
  let error: string | undefined
  let isCanceled = false
  const running = agent
    .runAgent(
      { ...parameters, abortController: connection },
      {
        onRunErrorEvent({ event }) {
          end = 'failed'
          error = event.message
        },
        onRunFinishedEvent(params) {
          if (params.outcome === 'interrupt') interrupts = params.interrupts
          end = params.outcome === 'interrupt' ? 'waiting' : 'completed'
          if (params.outcome === 'cancelled') end = 'canceled'
        },
      },
    )
    .catch(() => {})
    .finally(() => {
      if (connection.signal.aborted) end = isCanceled ? 'canceled' : 'cut'
      end ??= 'cut'
    })
  return {
    seen: () => ({ ...seenIn(agent.messages, interrupts), end, error }),
    async cut() {
      connection.abort()
      await running
    },
    async cancel() {
      isCanceled = true
      agent.abortRun()
      await running
    },
    async decide(approved) {
      const resume = interrupts.map(({ id }) => ({
        interruptId: id,
        status: 'resolved' as const,
        payload: { approved },
      }))
      return answerOf(agent, { resume })
    },
  }
}

function seenIn(messages: readonly Message[], interrupts: readonly Interrupt[]) {
  const answer = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
  const calls = answer.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  const nameOf = (id: string | undefined) => calls.find((call) => call.id === id)?.function.name ?? ''
  return {
    text: answer.map(({ role, content }) => (role === 'assistant' ? (content ?? '') : '')).join(''),
    results: answer.flatMap((message) => (message.role === 'tool' ? [nameOf(message.toolCallId)] : [])),
    asks: interrupts.map(({ toolCallId }) => nameOf(toolCallId)),
  }
}
