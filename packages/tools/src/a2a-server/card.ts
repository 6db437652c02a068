import type { JsonObject } from 'millrace'
import { jsonRpc, protocolVersion } from '../a2a/wire.ts'

export interface CardOptions {
  readonly name: string
  /** What the agent says about itself. */
  readonly description: string | undefined
  readonly examples: readonly string[] | undefined
  /** The URL of the JSON-RPC endpoint. */
  readonly url: string
  readonly hasPush: boolean
  /** Whether callers need a token. */
  readonly hasAuth: boolean
  /** Fields in place of these. */
  readonly fields: JsonObject | undefined
}

/** The agent card (4.4.1 of the specification). It is public. */
export function agentCard(options: CardOptions): JsonObject {
  const { name, url, hasPush, hasAuth, examples = [], fields } = options
  const description = options.description ?? `The agent '${name}'.`
  return {
    name,
    description,
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: jsonRpc, protocolVersion }],
    capabilities: { streaming: true, pushNotifications: hasPush, extendedAgentCard: false },
    defaultInputModes: ['text/plain', 'application/json', 'image/*', 'text/*', 'application/pdf'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [{ id: name, name, description, tags: ['agent'], examples: [...examples] }],
    ...(hasAuth && {
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    }),
    ...fields,
  }
}
