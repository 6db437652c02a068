/** The official SDK, loaded on first use. */
export type Sdk = typeof import('@agentclientprotocol/sdk')

export const loadSdk = (): Promise<Sdk> => import('@agentclientprotocol/sdk')
