import type { Voice } from '../channels/index.ts'
import { messageOf } from '../protocol/index.ts'
import type { App } from '../threads/index.ts'
import type { EventAnswers } from './event-answers.ts'
import { eventRoutes } from './event-answers.ts'
import { exchangeRoutes } from './exchange-routes.ts'
import { exportRoutes } from './export-routes.ts'
import { openApi } from './openapi.ts'
import { readinessOf } from './readiness.ts'
import { retryAfterOf } from './refusal.ts'
import type { Route } from './route.ts'
import { json } from './route.ts'
import { ref } from './schemas.ts'
import { threadRoutes } from './thread-routes.ts'
import type { UsageRoutesOptions } from './usage-routes.ts'
import { usageRoutes } from './usage-routes.ts'

export interface RoutesOptions extends UsageRoutesOptions {
  readonly events: EventAnswers
  readonly voice: Voice | undefined
}

/** Everything that can be asked of the server. */
export function allRoutes(app: App, options: RoutesOptions): readonly Route[] {
  const { events, voice } = options
  const { answerBytes } = options.limits
  const readiness = readinessOf(app)
  const routes: Route[] = [
    ...threadRoutes(app, events, answerBytes),
    ...eventRoutes(events, answerBytes),
    ...exchangeRoutes(answerBytes),
    ...exportRoutes(answerBytes),
    ...usageRoutes(app, options),
    {
      method: 'GET',
      path: '/agents',
      name: 'listAgents',
      summary: 'Who can be talked to; the first is that of a conversation that names none',
      answers: { 200: json(ref('Agents'), 'By name') },
      async handle({ visitor }) {
        const agents = app.agents.map(async (name) => {
          // How the machine is set up is not for every user.
          const notices = visitor.inspects ? await app.notices(name).catch((error) => [messageOf(error)]) : []
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
  const document = JSON.stringify(openApi(routes))
  return routes
}
