import type { Route, RouteContext } from '../protocols/index.ts'
import { httpError } from '../protocols/index.ts'
import type { Admission } from './admission.ts'
import { declaredBodyBytes } from './admission.ts'
import type { Identify, ServerCaller } from './callers.ts'
import { anonymous } from './callers.ts'
import type { Connection } from './connection.ts'
import { errorResponse, shuttingDown } from './errors.ts'
import type { OriginCheck } from './origin-check.ts'
import { preflightHeaders } from './origin-check.ts'
import { readBody, readHeaders, readJson, readJsonBody, readQuery } from './request-parts.ts'
import type { RouteMatch, Router } from './router.ts'
import type { OpenSlot, StreamSlotOptions } from './stream-slot.ts'
import { isStream, streamSlot } from './stream-slot.ts'

export interface HandlerOptions extends StreamSlotOptions {
  readonly router: Router
  readonly originCheck: OriginCheck
  readonly identify: Identify
  readonly bodyBytes: number
  readonly admission: Admission
  /** Whether the server is closing: new requests are rejected. */
  readonly isClosing: () => boolean
}

/** Answers a request. `address` is for hosts that know it without a connection. Never rejects. */
export type Handler = (
  request: Request,
  connection?: Connection | undefined,
  address?: string | undefined,
) => Promise<Response>

/** API responses are never rendered, run, framed or embedded. A page overrides these headers. */
const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

export function httpHandler(options: HandlerOptions): Handler {
  const { router, originCheck, isClosing, onError } = options

  async function respond(request: Request, from: RequestSource): Promise<Response> {
    const match = router(request.method, new URL(request.url).pathname)
    try {
      if (isClosing()) throw shuttingDown()
      originCheck.check(request, { localAddress: from.connection?.localAddress, strict: false })
      if (request.method === 'OPTIONS') return preflight(request)
      const response = await handleRoute(routeOf(match), match.params, { request, ...from }, options)
      return request.method === 'HEAD' ? new Response(null, response) : response
    } catch (thrown) {
      const response = errorResponse(isClosing() ? shuttingDown() : thrown, onError, match.error)
      if (response.status === 405) response.headers.set('allow', match.allowed.join(', '))
      return response
    }
  }

  function preflight(request: Request): Response {
    const cors = originCheck.corsHeaders(request)
    if (!('access-control-allow-origin' in cors))
      throw httpError(403, 'auth', "this origin is not allowed: add it to the server's origins option")
    return new Response(null, { status: 204, headers: preflightHeaders })
  }

  return async (request, connection, address = connection?.address) => {
    const response = await respond(request, { connection, address })
    const { headers } = response
    for (const [name, value] of Object.entries(safeHeaders)) if (!headers.has(name)) headers.set(name, value)
    for (const [name, value] of Object.entries(originCheck.corsHeaders(request))) headers.set(name, value)
    headers.append('vary', 'origin')
    if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
    return response
  }
}

interface RequestSource {
  readonly connection: Connection | undefined
  readonly address: string | undefined
}

function routeOf({ route, allowed }: RouteMatch): Route {
  if (route) return route
  if (allowed.length > 0)
    throw httpError(405, 'invalid_input', `method not allowed: use ${allowed.join(', ')}`)
  throw httpError(404, 'not_found', 'no route matches this path')
}

async function handleRoute(
  route: Route,
  params: RouteContext['params'],
  { request, connection, address }: RequestSource & { readonly request: Request },
  options: HandlerOptions,
): Promise<Response> {
  const { identify, admission } = options
  const bodyBytes = route.bodyBytes ?? options.bodyBytes
  const slots: OpenSlot[] = []
  let free = () => {}
  const caller = route.isPublic ? anonymous : await identify(request, address)
  caller.rateLimit()
  // Health checks must work even when the server is overloaded.
  if (route.isPublic) return runRoute()
  free = admission.admit(request, caller.key, bodyBytes)
  caller.countBytes(declaredBodyBytes(request, bodyBytes))
  admission.countResponse(connection, caller)
  try {
    const response = await runRoute()
    // Streams have their own limit.
    if (!connection || connection.closed.aborted || isStream(response)) free()
    else connection.closed.addEventListener('abort', free, { once: true })
    return response
  } catch (error) {
    free()
    throw error
  }

  async function runRoute() {
    let isSent = false
    try {
      const response = await callHandler()
      isSent = true
      return response
    } finally {
      for (const slot of slots) slot.settle(isSent)
    }
  }

  async function callHandler() {
    if (!route.handle)
      throw httpError(426, 'invalid_input', 'this route is a WebSocket: send an upgrade request')
    const from = { connection, maxBytes: bodyBytes }
    return route.handle({
      ...readContext(request, route, { params, caller }),
      body: route.body ? await readJsonBody(request, route.body, from) : {},
      signal: connection?.closed ?? request.signal,
      readBody: () => readBody(request, from),
      readJson: () => readJson(request, from),
      openStream() {
        const slot = streamSlot(
          request,
          { caller, clientSignal: connection ? undefined : request.signal },
          options,
        )
        slots.push(slot)
        // Streams have their own limit, and so do responses that take as long.
        free()
        return slot
      },
    })
  }
}

/** The parts of a request context that do not need the body. */
export function readContext(
  request: Request,
  route: Route,
  { params, caller }: { readonly params: RouteContext['params']; readonly caller: ServerCaller },
) {
  const query = readQuery(new URL(request.url), route.query)
  const headers = readHeaders(request.headers, route.headers)
  return { request, caller, params, query, headers }
}
