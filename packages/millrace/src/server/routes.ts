import type { Route, Voice } from '../protocols/index.ts'
import { json, ref } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { agentRoutes } from './agent-routes.ts'
import { retryAfterOf } from './errors.ts'
import { exchangeRoutes } from './exchange-routes.ts'
import { exportRoutes } from './export-routes.ts'
import { openApi } from './openapi.ts'
import { readinessOf } from './readiness.ts'
import type { ThreadRoutesOptions } from './thread-routes.ts'
import { threadRoutes } from './thread-routes.ts'
import type { UsageRoutesOptions } from './usage-routes.ts'
import { usageRoutes } from './usage-routes.ts'

export interface RoutesOptions extends UsageRoutesOptions, ThreadRoutesOptions {
  readonly voice: Voice | undefined
  /** The routes of the protocols, for `openapi.json`. */
  readonly protocolRoutes: readonly Route[]
}

/** The routes of the server itself, in addition to those of its protocols. */
export function allRoutes(app: App, options: RoutesOptions): readonly Route[] {
  const { voice, protocolRoutes } = options
  const { responseBytes } = options.limits
  const routes: Route[] = [
    ...threadRoutes(app, options),
    ...exchangeRoutes(responseBytes),
    ...exportRoutes(responseBytes),
    ...usageRoutes(app, options),
    ...agentRoutes(app),
    {
      method: 'GET',
      path: '/voice',
      name: 'voice',
      summary: 'Get whether the WebSockets of threads support speech output and speech input',
      responses: { 200: json(ref('VoiceAbilities'), 'What is supported') },
      handle: () => Response.json({ speak: voice !== undefined, listen: voice?.listens === true }),
    },
    ...healthRoutes(app),
    {
      method: 'GET',
      path: '/openapi.json',
      name: 'openapi',
      summary: 'Get this OpenAPI document',
      isPublic: true,
      responses: { 200: json({ type: 'object' }, 'The OpenAPI 3.1 document') },
      handle: () => new Response(document(), { headers: { 'content-type': 'application/json' } }),
    },
  ]
  let text: string | undefined
  /** Built once: it is public, so requests for it must be cheap. */
  function document() {
    text ??= JSON.stringify(openApi([...routes, ...protocolRoutes]))
    return text
  }
  return routes
}

/** The routes for probes of an orchestrator or a load balancer. */
export function healthRoutes(app: App): readonly Route[] {
  const readiness = readinessOf(app)
  return [
    {
      method: 'GET',
      path: '/healthz',
      name: 'health',
      summary: 'Liveness check, which also reports whether the server is ready',
      isPublic: true,
      responses: { 200: json(ref('Health'), 'The process is alive') },
      async handle() {
        const { status, ...found } = await readiness()
        return Response.json({ status: 'ok', ready: status === 'ready', ...found })
      },
    },
    {
      method: 'GET',
      path: '/readyz',
      name: 'readiness',
      summary: 'Readiness check: whether the store can be read and the process is not overloaded',
      isPublic: true,
      responses: {
        200: json(ref('Readiness'), 'The server is ready'),
        503: json(
          { anyOf: [ref('Readiness'), ref('Error')] },
          'The server is not ready. While it shuts down, the body is an Error',
        ),
      },
      async handle() {
        const found = await readiness()
        if (found.status === 'ready') return Response.json(found)
        return Response.json(found, { status: 503, headers: { 'retry-after': retryAfterOf({}) } })
      },
    },
  ]
}
