import type { AgentSubscriber, BaseEvent, HttpAgentConfig, RunAgentParameters } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { EventSchemas } from '@ag-ui/core/schemas'
import { HttpAgent as OldHttpAgent } from 'ag-ui-client-0.0.59'
import { expect, onTestFinished, vi } from 'vitest'
import type { Agent } from '../../agent/index.ts'
import type { JsonObject } from '../../protocol/index.ts'
import type { AgUiOptions, ServerOptions } from '../../server/index.ts'
import { agUi } from '../../server/index.ts'
import { served } from '../../server/server.test-kit.ts'
import type { Thread } from '../../threads/index.ts'
import { derivedId } from '../derived-id.ts'

/** A server for AG-UI, on a real port. */
export async function serveAgUi(
  agent: Agent,
  { ui, more, ...options }: ServerOptions & { ui?: AgUiOptions; more?: Record<string, Agent> } = {},
) {
  const agents = { [agent.name]: agent, ...more }
  const given = served(agents, { protocols: [agUi(ui)], ...options })
  const { url } = await given.app.listen()
  const address = `${url}/ag-ui/${agent.name}`
  /** The thread of a client. */
  async function threadOf({ threadId }: { threadId: string }, user?: string): Promise<Thread> {
    return given.app.thread(await derivedId('ag-ui', user, agent.name, threadId))
  }
  return {
    ...given,
    url,
    address,
    threadOf,
    client: (config: Partial<HttpAgentConfig> = {}) => client(new HttpAgent({ url: address, ...config })),
    oldClient: (config: Partial<HttpAgentConfig> = {}) =>
      client(new OldHttpAgent({ url: address, ...config } as never) as unknown as HttpAgent),
  }
}

/** A client that keeps what it receives. */
function client(agent: HttpAgent) {
  onTestFinished(() => agent.abortRun())
  // It also logs each rejection.
  vi.spyOn(console, 'error').mockImplementation(() => {})

  /** Runs the agent. Fails if an event is not valid. */
  async function run(parameters: RunAgentParameters = {}, subscriber: AgentSubscriber = {}) {
    const events: BaseEvent[] = []
    const onEvent: AgentSubscriber['onEvent'] = (params) => {
      events.push(params.event)
      return subscriber.onEvent?.(params)
    }
    await agent.runAgent(parameters, { ...subscriber, onEvent })
    return runOf(events)
  }

  return {
    agent,
    run,
    /** Sends a message. */
    say(content: unknown, parameters?: RunAgentParameters & { id?: string }, subscriber?: AgentSubscriber) {
      const { id = crypto.randomUUID(), ...more } = parameters ?? {}
      agent.addMessage({ id, role: 'user', content } as never)
      return run(more, subscriber)
    },
  }
}

function runOf(events: readonly BaseEvent[]) {
  const last = events.at(-1) as BaseEvent
  return {
    events,
    types: events.map(({ type }) => String(type)),
    last,
    outcome: last.outcome as { type: string; interrupts?: Record<string, unknown>[] } | undefined,
    /** The events of a type. */
    of: (type: string) => events.filter((event) => event.type === type),
  }
}

/** The role and content of each message, with the names of calls. */
export function conversation(agent: Pick<HttpAgent, 'messages'>): string[] {
  return agent.messages.map((message) => {
    const calls = 'toolCalls' in message ? (message.toolCalls ?? []) : []
    const called = calls.map(({ function: { name, arguments: args } }) => ` ${name}(${args})`)
    return `${message.role}: ${message.content ?? ''}${called.join('')}`
  })
}

/** Fails unless every event is exactly as the protocol defines it. */
export function expectValid(events: readonly object[]): void {
  for (const event of events) {
    const { success, data, error } = EventSchemas.safeParse(event)
    expect(success, `${error?.message}: ${JSON.stringify(event)}`).toBe(true)
    expect(data).toEqual(event)
  }
}

/** The events of a response. */
export async function eventsIn(response: Response): Promise<JsonObject[]> {
  const text = await response.text()
  return text
    .split('\n\n')
    .flatMap((frame) => (frame.startsWith('data: ') ? [JSON.parse(frame.slice(6))] : []))
}
