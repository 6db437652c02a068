import type { MountedProtocol, Route } from '../protocols/index.ts'

/** The result of matching a path. */
export interface RouteMatch {
  /** Undefined if no route matches the path and method. */
  readonly route: Route | undefined
  readonly params: Readonly<Record<string, string>>
  /** The methods that the path supports. */
  readonly allowed: readonly string[]
  /** The error format of the protocol that owns the path, if it defines one. */
  readonly error: MountedProtocol['error']
}

/** Finds the route for a method and a path. The first match wins; `HEAD` is treated as `GET`. */
export type Router = (method: string, path: string) => RouteMatch

export function router(protocols: readonly MountedProtocol[]): Router {
  const entries = protocols.flatMap((protocol) =>
    protocol.routes.map((route) => ({ protocol, route, match: matcher(route.path) })),
  )
  const prefixes = protocols.flatMap((protocol) =>
    (protocol.prefixes ?? []).map((prefix) => ({ protocol, prefix })),
  )
  return (requested, path) => {
    const method = requested === 'HEAD' ? 'GET' : requested
    for (const { protocol, route, match } of entries) {
      const params = route.method === method ? match(path) : undefined
      if (params) return { route, params, allowed: [route.method], error: protocol.error }
    }
    const here = entries.filter(({ match }) => match(path))
    const owner = here[0] ?? prefixes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
    return {
      route: undefined,
      params: {},
      allowed: here.map(({ route }) => route.method),
      error: owner?.protocol.error,
    }
  }
}

/** Returns the params of a path that matches, otherwise undefined. */
function matcher(pattern: string): (path: string) => Record<string, string> | undefined {
  const names = [...pattern.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const source = pattern
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/\*$/, '.*')
    .replace(/:\w+/g, '([^/]+)')
  const regex = new RegExp(`^${source}$`)
  return (path) => {
    const match = regex.exec(path)
    return match
      ? Object.fromEntries(names.map((name, at) => [name, decoded(match[at + 1] ?? '')]))
      : undefined
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
