import type { Answering } from '../handler.ts'
import type { McpEndpoint } from './endpoint.ts'

/** No `GET`: nothing is told that nobody has asked for, so there is no stream to open. Clients of either kind take a 405 for that. */
export function mcpRoutes({ handle }: McpEndpoint, path: string): Answering[] {
  return [
    { method: 'POST', path, handle },
    { method: 'DELETE', path, handle },
  ]
}
