import type { JsonObject } from './json.ts'

/** The description of a tool that is sent to the model. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  /** The provider must enforce the schema, if it can. */
  readonly strict?: boolean
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

/** Settings that most providers support. Unsupported ones are left out of the request. */
export interface ModelSettings {
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly stop?: readonly string[] | undefined
  readonly seed?: number | undefined
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | undefined
  readonly parallelToolCalls?: boolean | undefined
  /**
   * Provider-specific request fields, which override everything else. `tools` are added to the
   * agent's.
   */
  readonly extra?: JsonObject | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * What a sender adds to a message, a result or a decision. It holds for the run that answers the
 * message, until another one replaces it, and is part of the log, so that it survives a crash.
 */
export interface RunRequest {
  /** The model that answers: the id of the agent's `model`, or of one of its `models`. */
  readonly model?: string | undefined
  /**
   * Tools that the sender runs itself. A tool of the agent with the same name takes precedence.
   */
  readonly tools?: readonly ToolSpec[] | undefined
  /** Added to the agent's system prompt. */
  readonly system?: string | undefined
  /** These override the agent's settings. */
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ToolChoice | undefined
  /** JSON schema of the answer, in place of the agent's. */
  readonly output?: JsonObject | undefined
  /**
   * Replaces parts of the agent, to try out what another prompt would do. A server accepts this only
   * from callers who may inspect.
   */
  readonly replace?:
    | {
        readonly system?: string | undefined
        /** The names of the agent's tools that are offered. */
        readonly tools?: readonly string[] | undefined
      }
    | undefined
  /** Stored with the message, for the protocol that sent it. The model does not see it. */
  readonly metadata?: JsonObject | undefined
}
