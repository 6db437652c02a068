import type { SharedBudget } from '../log/index.ts'
import type { ApprovalEvent, JsonObject, Model, ObserveCall, RunEvent, Telemetry } from '../protocol/index.ts'
import type { PolicyChain } from './policy-chain.ts'
import type { ToolContext } from './tool.ts'

/** Shared by all copies of this package, so that an agent of one copy can be a tool in another. */
export const nestedRun = Symbol.for('millrace.nestedRun')

/** What a tool that starts a nested run, as `agent.asTool()` does, needs from its parent run. */
export interface NestedRun {
  /** The id of the thread that the run, or the run that called it, belongs to. */
  readonly thread: string | undefined
  /** The model of the run. */
  readonly model: (() => Model) | undefined
  /** Passes on an event of the nested run of this agent. */
  relay(event: RunEvent, agent?: string): void
  /** Observes the model calls of the nested run. */
  readonly observe: ObserveCall | undefined
  /** Returns the telemetry for the nested run, as a child of this call. */
  readonly telemetry: (() => Telemetry) | undefined
  /** The rules that also apply to the nested run. */
  readonly policies: PolicyChain | undefined
  /** The rules that people have allowed so far in this thread. */
  readonly granted: (() => readonly string[]) | undefined
  /** The budgets that the nested run spends too. */
  readonly budget: SharedBudget | undefined
  /** The metadata of the thread, which the nested run shares. */
  readonly metadata: Metadata
  readonly resumed: Resumed | undefined
}

/** The metadata that the tools of a run read and change. */
export interface Metadata {
  current(): JsonObject
  /** Throws `invalid_input` if the patch cannot be applied. */
  update(patch: JsonObject): void
}

/**
 * The events that a call relayed before it was suspended or its process died, and the decisions
 * since.
 */
export interface Resumed {
  readonly events: readonly RunEvent[]
  readonly decisions: readonly ApprovalEvent[]
}

/** Empty if the tool was called with a custom context. */
export function nestedRunOf(context: ToolContext): Partial<NestedRun> {
  return (context as { readonly [nestedRun]?: NestedRun })[nestedRun] ?? {}
}
