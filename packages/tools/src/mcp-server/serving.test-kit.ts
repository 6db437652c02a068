import type { Agent, App, AppOptions } from 'millrace'
import { agent, tool } from 'millrace'
import type { ServerOptions } from 'millrace/server'
import { scriptedModel } from 'millrace/testing'
import { z } from 'zod'
import { served } from '../../../millrace/src/server/server.test-kit.ts'
import { mcpProtocol } from './endpoint.ts'

/** A server with its agents at `/mcp`, on a free port. */
export async function serving(
  agents: Agent | Record<string, Agent>,
  options: ServerOptions = {},
  more: Omit<AppOptions, 'agents'> = {},
) {
  const { app, followers } = served(agents, { protocols: [mcpProtocol()], ...options }, more)
  const { url } = await app.listen()
  return { app, url: `${url}/mcp`, followers }
}

/** An agent that uses a tool and counts its answers. */
export function clerk(): Agent {
  const lookUp = tool({
    name: 'look_up',
    description: 'Looks something up',
    input: z.object({ id: z.string() }),
    run: ({ id }) => `${id} is shipped`,
  })
  return agent({
    name: 'clerk',
    tools: [lookUp],
    model: scriptedModel(({ messages }) => {
      const asked = messages.filter(({ role }) => role === 'user').length
      return messages.at(-1)?.role === 'tool'
        ? `Answer ${asked}: it is shipped.`
        : [{ text: 'Let me look. ' }, { call: 'look_up', input: { id: 'ORD-42' }, id: `call_${asked}` }]
    }),
  })
}

export const eventsOf = async (app: App, thread: unknown) =>
  (await app.thread(String(thread)).read()).map(({ event }) => event)
