import { JsonObject, Tool } from 'millrace'

import { Protocol } from 'millrace/server'

interface A2aAgentOptions {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly headers?: A2aHeaders | undefined
  readonly endpoint?: string | undefined
  readonly connectMs?: number | undefined
  readonly timeoutMs?: number | undefined
  readonly approve?: boolean | undefined
  readonly maxResultChars?: number | undefined
  readonly fetch?: typeof fetch | undefined
}

type A2aHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)

interface A2aOptions {
  readonly agent?: string | undefined
  readonly url?: string | undefined
  readonly cards?: Readonly<Record<string, JsonObject>> | undefined
  readonly push?: A2aPushOptions | undefined
}

interface A2aPushOptions {
  readonly file: string
  readonly allow?: readonly string[] | undefined
  readonly attempts?: number | undefined
}

declare function a2a(options?: A2aOptions): Protocol

declare function a2aAgent(url: string, options?: A2aAgentOptions): Promise<Tool>

export { type A2aAgentOptions, type A2aHeaders, type A2aOptions, type A2aPushOptions, a2a, a2aAgent }
