/** The official SDK, loaded on first use. */
export type Sdk = typeof import('@modelcontextprotocol/server')

export const loadSdk = (): Promise<Sdk> => import('@modelcontextprotocol/server')
