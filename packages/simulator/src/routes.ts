import type { Failure } from './failures.ts'
import type { Wire } from './wire.ts'

/** The target of a request. The wire determines the format of errors. */
export type Route = { readonly wire: Wire } & (
  | { readonly kind: 'generate' }
  | StoredRoute
  | { readonly kind: 'models' }
  | { readonly kind: 'not-found'; readonly failure: Failure }
)

/** A request for a stored response. */
export interface StoredRoute {
  readonly kind: 'stored'
  readonly action: 'retrieve' | 'cancel' | 'delete'
  readonly id: string
  readonly query: URLSearchParams
}

const generations: readonly (readonly [path: RegExp, wire: Wire])[] = [
  // Azure has the deployment or its own prefix before the same suffix.
  [/^(\/openai)?\/v1\/chat\/completions$|^\/openai\/deployments\/[^/]+\/chat\/completions$/, 'openai-chat'],
  [/^(\/openai)?\/v1\/responses$|^\/openai\/responses$/, 'openai-responses'],
  [/^\/v1\/messages$/, 'anthropic'],
]

const storedResponse = /^(?:(?:\/openai)?\/v1|\/openai)\/responses\/([^/]+)(\/cancel)?$/

const actions: Readonly<Record<string, StoredRoute['action']>> = {
  GET: 'retrieve',
  DELETE: 'delete',
  'POST /cancel': 'cancel',
}

/** Matches a method and path. The query is ignored where it does not matter. */
export function routeOf(method: string, path: string, headers: Readonly<Record<string, string>>): Route {
  const [pathname = '', query] = path.split('?')
  const wire = generations.find(([pattern]) => pattern.test(pathname))?.[1]
  if (wire) return method === 'POST' ? { kind: 'generate', wire } : notAllowed(wire, method, pathname)
  const [, id, cancel = ''] = storedResponse.exec(pathname) ?? []
  if (id !== undefined) {
    const wire = 'openai-responses'
    const action = actions[`${method} ${cancel}`.trim()]
    if (!action) return notAllowed(wire, method, pathname)
    return { kind: 'stored', wire, action, id, query: new URLSearchParams(query) }
  }
  const errorWire = 'anthropic-version' in headers ? 'anthropic' : 'openai-chat'
  if (pathname === '/v1/models')
    return method === 'GET' ? { kind: 'models', wire: errorWire } : notAllowed(errorWire, method, pathname)
  const message = errorWire === 'anthropic' ? 'Not found' : `Invalid URL (${method} ${pathname})`
  return { kind: 'not-found', wire: errorWire, failure: { status: 404, message } }
}

function notAllowed(wire: Wire, method: string, pathname: string): Route {
  const message =
    wire === 'anthropic'
      ? 'Method Not Allowed'
      : `Not allowed to ${method} on ${pathname}. (HINT: Perhaps you meant to make your request with a different method?)`
  const code = wire === 'anthropic' ? {} : { code: 'method_not_supported' }
  return { kind: 'not-found', wire, failure: { status: 405, message, ...code } }
}
