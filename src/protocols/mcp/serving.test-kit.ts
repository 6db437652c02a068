import { z } from 'zod'
import type { Agent } from '../../agent/index.ts'
import { agent } from '../../agent/index.ts'
import type { ServerOptions } from '../../server/index.ts'
import { served } from '../../server/server.test-kit.ts'
import { scriptedModel } from '../../testing/index.ts'
import type { App, AppOptions } from '../../threads/index.ts'
import { tool } from '../../tools/index.ts'

/** A server that has its agents at `/mcp`, on a port of its own. */
export async function serving(
  agents: Agent | Record<string, Agent>,
  options: ServerOptions = {},
  more: Omit<AppOptions, 'agents'> = {},
) {
  const { app, followers } = served(agents, { mcp: true, ...options }, more)
  const { url } = await app.listen()
  return { app, url: `${url}/mcp`, followers }
}

/** Uses a tool, and counts how often it has spoken. */
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
