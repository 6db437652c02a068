import OpenAI from 'openai'
import type { Agent } from '../../agent/index.ts'
import { agent } from '../../agent/index.ts'
import type { JsonObject, ModelRequest, ScriptRound, ThreadEvent } from '../../protocol/index.ts'
import type { ServerOptions } from '../../server/index.ts'
import { served } from '../../server/server.test-kit.ts'
import { scriptedModel } from '../../testing/index.ts'
import type { AppOptions, Thread } from '../../threads/index.ts'
import type { Tool } from '../../tools/index.ts'
import type { ModelProtocolOptions } from '../model-api/index.ts'
import { openaiApi } from './index.ts'

type Options = Omit<ServerOptions, 'protocols'> & {
  readonly openai?: ModelProtocolOptions
  readonly app?: Omit<AppOptions, 'agents'>
}

/** A server with the agents as models, on a real port, and a client of OpenAI's SDK. */
export async function serveModels(
  agents: Agent | Record<string, Agent>,
  { openai: own, app: more, ...options }: Options = {},
) {
  const given = served(
    agents,
    {
      clientOptions: ['tools', 'toolChoice', 'output', 'system', 'settings'],
      ...options,
      protocols: [openaiApi(own)],
    },
    more,
  )
  const { url } = await given.app.listen()
  const port = Number(new URL(url).port)
  const baseURL = `${url}/v1`

  const threadOf = (id: string): Thread => given.app.thread(id)

  async function eventsOf(threadId: string): Promise<ThreadEvent[]> {
    return (await threadOf(threadId).read()).map(({ event }) => event)
  }
  return { ...given, url, port, baseURL, client: clientOf(baseURL), threadOf, eventsOf }
}

/** Without retries, so that a test sees each failure. */
export function clientOf(baseURL: string, options: ConstructorParameters<typeof OpenAI>[0] = {}): OpenAI {
  return new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0, ...options })
}

/** An agent whose model plays a script, which can depend on the request. */
export function scripted(
  script: (request: ModelRequest, index: number) => ScriptRound,
  tools: readonly Tool[] = [],
  { paceMs = 0 } = {},
): Agent {
  const model = scriptedModel(script, { deltaChars: 4, paceMs })
  return agent({ name: 'miller', model, tools: [...tools] })
}

/** A tool of the client, as its requests declare it. */
export function clientTool(name: string, properties: JsonObject = { of: { type: 'string' } }) {
  const parameters = { type: 'object', properties, required: Object.keys(properties) }
  return { type: 'function' as const, function: { name, description: `Runs ${name}`, parameters } }
}
