/** The official SDK, of which only the types are loaded before it is needed. */
export type Sdk = typeof import('@modelcontextprotocol/server')

export const loadSdk = (): Promise<Sdk> => import('@modelcontextprotocol/server')
