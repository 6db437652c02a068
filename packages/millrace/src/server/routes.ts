import { messageOf } from '../protocol/index.ts'
import type { Route, Voice } from '../protocols/index.ts'
import { json, ref } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { retryAfterOf } from './errors.ts'
import { exchangeRoutes } from './exchange-routes.ts'
import { exportRoutes } from './export-routes.ts'
import { openApi } from './openapi.ts'
import { readinessOf } from './readiness.ts'
import { threadRoutes } from './thread-routes.ts'
import type { UsageRoutesOptions } from './usage-routes.ts'
import { usageRoutes } from './usage-routes.ts'

export interface RoutesOptions extends UsageRoutesOptions {
  readonly voice: Voice | undefined
  /** Those of the protocols, for `openapi.json`. */
  readonly protocolRoutes: readonly Route[]
}

/** What can be asked of the server itself, beside its protocols. */
export function allRoutes(app: App, options: RoutesOptions): readonly Route[] {
  const { voice, protocolRoutes } = options
  const { answerBytes } = options.limits
  const readiness = readinessOf(app)
  const routes: Route[] = [
    ...threadRoutes(answerBytes),
    ...exchangeRoutes(answerBytes),
    ...exportRoutes(answerBytes),
    ...usageRoutes(app, options),
    {
      method: 'GET',
      path: '/agents',
      name: 'listAgents',
      summary: 'Who can be talked to; the first is that of a conversation that names none',
      answers: { 200: json(ref('Agents'), 'By name') },
      async handle({ caller }) {
        const agents = app.agents.map(async (name) => {
          // How the machine is set up is not for every user.
          const notices = caller.inspects ? await app.notices(name).catch((error) => [messageOf(error)]) : []
          return { name, ...(notices.length > 0 && { notices }) }
        })
        return Response.json({ agents: await Promise.all(agents) })
      },
    },
    {
      method: 'GET',
      path: '/voice',
      name: 'voice',
      summary: 'Whether the sockets of conversations speak, and listen',
      answers: { 200: json(ref('VoiceAbilities'), 'What they do') },
      handle: () => Response.json({ speak: voice !== undefined, listen: voice?.listens === true }),
    },
    {
      method: 'GET',
      path: '/healthz',
      name: 'health',
      summary: 'Whether the process answers, and whether it is ready for requests',
      isPublic: true,
      answers: { 200: json(ref('Health'), 'It answers') },
      async handle() {
        const { status, ...found } = await readiness()
        return Response.json({ status: 'ok', ready: status === 'ready', ...found })
      },
    },
    {
      method: 'GET',
      path: '/readyz',
      name: 'readiness',
      summary: 'Whether requests should be sent here: the store can be read, and the process is not busy',
      isPublic: true,
      answers: {
        200: json(ref('Readiness'), 'They should'),
        503: json({ anyOf: [ref('Readiness'), ref('Error')] }, 'They should not; an error while it closes'),
      },
      async handle() {
        const found = await readiness()
        if (found.status === 'ready') return Response.json(found)
        return Response.json(found, { status: 503, headers: { 'retry-after': retryAfterOf({}) } })
      },
    },
    {
      method: 'GET',
      path: '/openapi.json',
      name: 'openapi',
      summary: 'This document',
      isPublic: true,
      answers: { 200: json({ type: 'object' }, 'OpenAPI 3.1') },
      handle: () => new Response(document, { headers: { 'content-type': 'application/json' } }),
    },
  ]
  // Once: anyone may ask for it.
  const document = JSON.stringify(openApi([...routes, ...protocolRoutes]))
  return routes
}
