import type { JsonObject } from './json.ts'
import type { ModelSettings, ToolChoice, ToolSpec } from './run-request.ts'

/** What everyone who may use an agent can know about it. */
export interface AgentInfo {
  readonly name: string
  /** What it can do, in a sentence. */
  readonly description?: string
  /** Messages to start a conversation with. */
  readonly starters?: readonly string[]
  /** The names of its tools. */
  readonly tools: readonly string[]
  /** The ids of the models to choose from; the first one answers unless a message names another. */
  readonly models: readonly string[]
  /** Its answers, token counts and costs are simulated. */
  readonly isSimulated?: true
  /**
   * Notices about its tools on the server's machine. Only for users who may inspect; absent if
   * empty.
   */
  readonly notices?: readonly string[]
}

/** How an agent is set up, for users who may inspect. */
export interface AgentDetails extends Omit<AgentInfo, 'tools' | 'models'> {
  readonly system?: string
  readonly tools: readonly ToolSpec[]
  readonly models: readonly AgentModel[]
  /** What happens to tool calls: rules in the order in which they are tried. Absent if it has none. */
  readonly rules?: readonly string[]
  readonly settings: ModelSettings
  readonly toolChoice?: ToolChoice
  /** The JSON Schema of its answers. */
  readonly output?: JsonObject
  /** Limits by the name of the option: `maxRounds`, `runMs`, … Those without a limit are absent. */
  readonly limits: Readonly<Record<string, number>>
  /** As passed to `agent()`. */
  readonly budget?: JsonObject
}

export interface AgentModel {
  readonly id: string
  readonly provider: string
  /** How many tokens it can read, if that is known. */
  readonly contextTokens?: number
  /** Tried only if the ones before it have failed. */
  readonly isFallback?: true
  readonly isSimulated?: true
}
