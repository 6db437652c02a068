import type { Route, RouteContext } from '../protocol.ts'

export interface ModelRoutesOptions {
  readonly path: string
  readonly agents: readonly string[]
  /** The agent that answers for a model. Throws 404 if there is none. */
  readonly agentOf: (model: string) => string
  readonly headers: (context: RouteContext) => Record<string, string>
}

/**
 * The agents as models. One format for the clients of OpenAI and of Anthropic, which ask at the same
 * path: each reads its own fields.
 */
export function modelRoutes({ path, agents, agentOf, headers }: ModelRoutesOptions): Route[] {
  return [
    {
      method: 'GET',
      path: `${path}/models`,
      handle(context) {
        const data = agents.map(modelOf)
        const page = { has_more: false, first_id: agents[0] ?? null, last_id: agents.at(-1) ?? null }
        return Response.json({ object: 'list', data, ...page }, { headers: headers(context) })
      },
    },
    {
      method: 'GET',
      path: `${path}/models/:id`,
      handle(context) {
        const { id = '' } = context.params
        agentOf(id)
        return Response.json(modelOf(id), { headers: headers(context) })
      },
    },
  ]
}

/** Agents have no release date. Anthropic documents the epoch for a date that is unknown. */
function modelOf(id: string) {
  return {
    id,
    object: 'model',
    created: 0,
    owned_by: 'millrace',
    type: 'model',
    display_name: id,
    created_at: '1970-01-01T00:00:00Z',
  }
}
