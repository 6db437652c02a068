import type { Context } from 'hono'
import { Hono } from 'hono'
import type { MillraceError } from '../protocol/index.ts'
import type { Admission } from './admission.ts'
import { announced } from './admission.ts'
import type { Guard } from './guard.ts'
import { preflightHeaders } from './guard.ts'
import { closingDown, errorAnswer, refusal } from './refusal.ts'
import { readHeaders, readJsonBody, readQuery } from './request-parts.ts'
import type { Connection, Route } from './route.ts'
import type { Identify } from './visitors.ts'
import { stranger } from './visitors.ts'

/** What the handler needs of a route; the rest is for `openapi.json`. */
export type Answering = Omit<Route, 'name' | 'summary' | 'answers'>

export interface HandlerOptions {
  readonly routes: readonly Answering[]
  readonly guard: Guard
  readonly identify: Identify
  readonly bodyBytes: number
  readonly admission: Admission
  /** Whether the server is being closed: nothing is begun any more. */
  readonly isClosing: () => boolean
  readonly onError: (error: MillraceError) => void
}

/** Answers a request, from an address that is known without a connection, perhaps. Never rejects. */
export type Handler = (
  request: Request,
  connection?: Connection | undefined,
  address?: string | undefined,
) => Promise<Response>

interface Env {
  readonly Bindings: { readonly connection: Connection | undefined; readonly address: string | undefined }
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Of an API nothing is to be shown, run, framed, embedded elsewhere, or kept. An answer that is a page says so itself. */
const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

export function httpHandler(options: HandlerOptions): Handler {
  const { routes, guard, isClosing, onError } = options
  const refuse = (thrown: unknown) => errorAnswer(isClosing() ? closingDown() : thrown, onError)
  const hono = new Hono<Env>()
  for (const route of routes) hono.on(route.method, route.path, (context) => answer(route, context, options))
  for (const path of new Set(routes.map(({ path }) => path))) {
    const allowed = allowedAt(path, routes)
    hono.on(
      methods.filter((method) => !allowed.includes(method)),
      path,
      () => wrongMethod(allowed, onError),
    )
  }
  hono.notFound(() => refuse(refusal(404, 'not_found', 'there is nothing at this address')))
  hono.onError(refuse)

  async function respond(request: Request, from: Env['Bindings']): Promise<Response> {
    try {
      if (isClosing()) throw closingDown()
      guard.check(request, { localAddress: from.connection?.localAddress, strict: false })
      return request.method === 'OPTIONS' ? preflight(request) : await hono.fetch(request, from)
    } catch (thrown) {
      return refuse(thrown)
    }
  }

  function preflight(request: Request): Response {
    const cors = guard.corsHeaders(request)
    if (!('access-control-allow-origin' in cors))
      throw refusal(403, 'auth', 'pages of this origin may not use this server: list it in its origins')
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

async function answer(
  route: Answering,
  context: Context<Env>,
  { identify, bodyBytes, admission }: HandlerOptions,
): Promise<Response> {
  const request = context.req.raw
  const { connection, address } = context.env
  const visitor = route.isPublic ? stranger : await identify(request, address)
  visitor.pay()
  // Whether the server works must be known also when it has too much to do.
  if (route.isPublic) return handled()
  const free = admission.begin(request, visitor.caller)
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
    const query = readQuery(new URL(request.url), route.query)
    const headers = readHeaders(request.headers, route.headers)
    const body = route.body ? await readJsonBody(request, route.body, { connection, most: bodyBytes }) : {}
    return route.handle({ request, visitor, params: context.req.param(), query, headers, body, connection })
  }
}

/** Whether an answer is written bit by bit, as long as there is something to say. */
export function isStream({ headers }: Response): boolean {
  return /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
}

function allowedAt(path: string, routes: readonly Answering[]): string[] {
  return routes.filter((route) => route.path === path).map(({ method }) => method)
}

function wrongMethod(allowed: readonly string[], onError: HandlerOptions['onError']): Response {
  const names = allowed.join(', ')
  const response = errorAnswer(refusal(405, 'invalid_input', `this address takes ${names}`), onError)
  response.headers.set('allow', names)
  return response
}
