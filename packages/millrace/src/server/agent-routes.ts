import type { AgentDetails, AgentInfo } from '../protocol/index.ts'
import { messageOf } from '../protocol/index.ts'
import type { Route } from '../protocols/index.ts'
import { httpError, json, ref } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'

export function agentRoutes(app: App): Route[] {
  async function noticesFor(name: string): Promise<Pick<AgentInfo, 'notices'>> {
    const notices = await app.notices(name).catch((error) => [messageOf(error)])
    return notices.length > 0 ? { notices } : {}
  }

  return [
    {
      method: 'GET',
      path: '/agents',
      name: 'listAgents',
      summary: 'List the agents. The first one is the default for new threads',
      responses: { 200: json(ref('Agents'), 'The agents') },
      async handle({ caller }) {
        const agents = app.agents.map(async (name) => ({
          ...infoOf(app.describe(name)),
          // Notices reveal how the machine is set up.
          ...(caller.canInspect && (await noticesFor(name))),
        }))
        return Response.json({ agents: await Promise.all(agents) })
      },
    },
    {
      method: 'GET',
      path: '/agents/:name',
      name: 'getAgent',
      summary: 'Get how an agent is set up: its prompt, tools, models, rules and limits',
      responses: { 200: json(ref('Agent'), 'The agent') },
      async handle({ caller, params }) {
        if (!caller.canInspect)
          throw httpError(
            403,
            'auth',
            'how an agent is set up is only visible to users whose auth returns canInspect: true',
          )
        const name = params.name as string
        if (!app.agents.includes(name)) throw httpError(404, 'not_found', `there is no agent named '${name}'`)
        const details: AgentDetails = { ...app.describe(name), ...(await noticesFor(name)) }
        return Response.json(details)
      },
    },
  ]
}

/** What everyone who may use the agent can know. */
export function infoOf({ name, description, starters, tools, models, isSimulated }: AgentDetails): AgentInfo {
  return {
    name,
    ...(description !== undefined && { description }),
    ...(starters && { starters }),
    tools: tools.map((tool) => tool.name),
    models: models.flatMap(({ id, isFallback }) => (isFallback ? [] : [id])),
    ...(isSimulated && { isSimulated }),
  }
}
