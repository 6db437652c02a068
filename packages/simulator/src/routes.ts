import type { Failure } from './failures.ts'
import type { Wire } from './wire.ts'

/** Where a request goes. The wire decides in whose form a refusal is written. */
export type Route = { readonly wire: Wire } & (
  | { readonly kind: 'generate' }
  | StoredRoute
  | { readonly kind: 'models' }
  | { readonly kind: 'nowhere'; readonly failure: Failure }
)

/** A request for a response that was generated before. */
export interface StoredRoute {
  readonly kind: 'stored'
  readonly action: 'retrieve' | 'cancel' | 'delete'
  readonly id: string
  readonly query: URLSearchParams
}

const generations: readonly (readonly [path: RegExp, wire: Wire])[] = [
  // Azure has the deployment, or its own prefix, before the same end.
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

/** Where `method` and `path` lead, a query left aside where it changes nothing. */
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
  const asked = 'anthropic-version' in headers ? 'anthropic' : 'openai-chat'
  if (pathname === '/v1/models')
    return method === 'GET' ? { kind: 'models', wire: asked } : notAllowed(asked, method, pathname)
  const message = asked === 'anthropic' ? 'Not found' : `Invalid URL (${method} ${pathname})`
  return { kind: 'nowhere', wire: asked, failure: { status: 404, message } }
}

function notAllowed(wire: Wire, method: string, pathname: string): Route {
  const message =
    wire === 'anthropic'
      ? 'Method Not Allowed'
      : `Not allowed to ${method} on ${pathname}. (HINT: Perhaps you meant to make your request with a different method?)`
  const code = wire === 'anthropic' ? {} : { code: 'method_not_supported' }
  return { kind: 'nowhere', wire, failure: { status: 405, message, ...code } }
}
