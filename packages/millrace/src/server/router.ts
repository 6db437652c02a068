import type { MountedProtocol, Route } from '../protocols/index.ts'

/** What there is at an address. */
export interface Found {
  /** Undefined if nothing, or nothing that takes the method. */
  readonly route: Route | undefined
  readonly params: Readonly<Record<string, string>>
  /** The methods that the address takes. */
  readonly allowed: readonly string[]
  /** How errors look here, if not as ours. */
  readonly error: MountedProtocol['error']
}

/** Finds the route for a method and the path of an address. The first that was mounted counts; `HEAD` is `GET`. */
export type Router = (method: string, path: string) => Found

export function router(protocols: readonly MountedProtocol[]): Router {
  const entries = protocols.flatMap((protocol) =>
    protocol.routes.map((route) => ({ protocol, route, match: matcher(route.path) })),
  )
  const prefixes = protocols.flatMap((protocol) =>
    (protocol.prefixes ?? []).map((prefix) => ({ protocol, prefix })),
  )
  return (asked, path) => {
    const method = asked === 'HEAD' ? 'GET' : asked
    const here = entries.flatMap((entry) => {
      const params = entry.match(path)
      return params ? [{ ...entry, params }] : []
    })
    const found = here.find(({ route }) => route.method === method)
    const owner =
      found ?? here[0] ?? prefixes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
    return {
      route: found?.route,
      params: found?.params ?? {},
      allowed: here.map(({ route }) => route.method),
      error: owner?.protocol.error,
    }
  }
}

/** Gives the params of a path that matches. */
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
