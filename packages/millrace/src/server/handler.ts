import type { Call, Route } from '../protocols/index.ts'
import { httpError } from '../protocols/index.ts'
import type { Admission } from './admission.ts'
import { announced } from './admission.ts'
import type { Connection } from './connection.ts'
import { closingDown, errorAnswer } from './errors.ts'
import type { Guard } from './guard.ts'
import { preflightHeaders } from './guard.ts'
import { readBody, readHeaders, readJson, readJsonBody, readQuery } from './request-parts.ts'
import type { Found, Router } from './router.ts'
import type { OpenPlace, StreamPlaceOptions } from './stream-place.ts'
import { isStream, streamPlace } from './stream-place.ts'
import type { Identify, Visitor } from './visitors.ts'
import { anonymous } from './visitors.ts'

export interface HandlerOptions extends StreamPlaceOptions {
  readonly router: Router
  readonly guard: Guard
  readonly identify: Identify
  readonly bodyBytes: number
  readonly admission: Admission
  /** Whether the server is being closed: nothing is begun any more. */
  readonly isClosing: () => boolean
}

/** Answers a request, from an address that is known without a connection, perhaps. Never rejects. */
export type Handler = (
  request: Request,
  connection?: Connection | undefined,
  address?: string | undefined,
) => Promise<Response>

/** Of an API nothing is to be shown, run, framed, embedded elsewhere, or kept. An answer that is a page says so itself. */
const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

export function httpHandler(options: HandlerOptions): Handler {
  const { router, guard, isClosing, onError } = options

  async function respond(request: Request, from: From): Promise<Response> {
    const found = router(request.method, new URL(request.url).pathname)
    try {
      if (isClosing()) throw closingDown()
      guard.check(request, { localAddress: from.connection?.localAddress, strict: false })
      if (request.method === 'OPTIONS') return preflight(request)
      const response = await answer(routeOf(found), found.params, { request, ...from }, options)
      return request.method === 'HEAD' ? new Response(null, response) : response
    } catch (thrown) {
      const response = errorAnswer(isClosing() ? closingDown() : thrown, onError, found.error)
      if (response.status === 405) response.headers.set('allow', found.allowed.join(', '))
      return response
    }
  }

  function preflight(request: Request): Response {
    const cors = guard.corsHeaders(request)
    if (!('access-control-allow-origin' in cors))
      throw httpError(403, 'auth', 'pages of this origin may not use this server: list it in its origins')
    return new Response(null, { status: 204, headers: preflightHeaders })
  }

  return async (request, connection, address = connection?.address) => {
    const response = await respond(request, { connection, address })
    const { headers } = response
    for (const [name, value] of Object.entries(safeHeaders)) if (!headers.has(name)) headers.set(name, value)
    for (const [name, value] of Object.entries(guard.corsHeaders(request))) headers.set(name, value)
    headers.append('vary', 'origin')
    if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
    return response
  }
}

interface From {
  readonly connection: Connection | undefined
  readonly address: string | undefined
}

function routeOf({ route, allowed }: Found): Route {
  if (route) return route
  if (allowed.length > 0) throw httpError(405, 'invalid_input', `this address takes ${allowed.join(', ')}`)
  throw httpError(404, 'not_found', 'there is nothing at this address')
}

async function answer(
  route: Route,
  params: Call['params'],
  { request, connection, address }: From & { readonly request: Request },
  options: HandlerOptions,
): Promise<Response> {
  const { identify, admission } = options
  const bodyBytes = route.bodyBytes ?? options.bodyBytes
  const places: OpenPlace[] = []
  const visitor = route.isPublic ? anonymous : await identify(request, address)
  visitor.rateLimit()
  // Whether the server works must be known also when it has too much to do.
  if (route.isPublic) return handled()
  const free = admission.begin(request, visitor.key, bodyBytes)
  visitor.payFor(announced(request, bodyBytes))
  admission.countAnswer(connection, visitor)
  try {
    const response = await handled()
    // A stream is counted as one.
    if (!connection || connection.gone.aborted || isStream(response)) free()
    else connection.gone.addEventListener('abort', free, { once: true })
    return response
  } catch (error) {
    free()
    throw error
  }

  async function handled() {
    let isSent = false
    try {
      const response = await asked()
      isSent = true
      return response
    } finally {
      for (const place of places) place.settle(isSent)
    }
  }

  async function asked() {
    if (!route.handle)
      throw httpError(426, 'invalid_input', 'this address speaks WebSocket: ask for an upgrade')
    const from = { connection, most: bodyBytes }
    return route.handle({
      ...readCall(request, route, { params, visitor }),
      body: route.body ? await readJsonBody(request, route.body, from) : {},
      signal: connection?.gone ?? request.signal,
      readBody: () => readBody(request, from),
      readJson: () => readJson(request, from),
      openStream() {
        const place = streamPlace(
          request,
          { visitor, gone: connection ? undefined : request.signal },
          options,
        )
        places.push(place)
        return place
      },
    })
  }
}

/** The parts of a call that need no body. */
export function readCall(
  request: Request,
  route: Route,
  { params, visitor }: { readonly params: Call['params']; readonly visitor: Visitor },
) {
  const query = readQuery(new URL(request.url), route.query)
  const headers = readHeaders(request.headers, route.headers)
  return { request, caller: visitor, params, query, headers }
}
