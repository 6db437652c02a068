import type { ApprovalEvent, ObserveCall, RunEvent, Telemetry } from '../protocol/index.ts'
import type { Guard } from './guard.ts'
import type { ToolContext } from './tool.ts'

/** Shared by all copies of this package, so that an agent of one can be a tool of another. */
export const nestedRun = Symbol.for('millrace.nestedRun')

/** What a tool that starts a run of its own needs of the run around it, as `agent.asTool()` does. */
export interface NestedRun {
  /** Passes on an event of the nested run. */
  relay(event: RunEvent): void
  /** Observes the model calls of the nested run. */
  readonly observe: ObserveCall | undefined
  /** Makes the telemetry of the nested run, as a part of this call. */
  readonly telemetry: (() => Telemetry) | undefined
  /** The rules that the nested run must keep as well. */
  readonly guard: Guard | undefined
  /** The rules that people have allowed so far in this thread. */
  readonly granted: (() => readonly string[]) | undefined
  readonly resumed: Resumed | undefined
}

/** The events a call relayed before it was suspended or cut off, and what was decided since: it continues from there. */
export interface Resumed {
  readonly events: readonly RunEvent[]
  readonly decisions: readonly ApprovalEvent[]
}

/** Empty where a tool is called with a context of the caller's own. */
export function nestedRunOf(context: ToolContext): Partial<NestedRun> {
  return (context as { readonly [nestedRun]?: NestedRun })[nestedRun] ?? {}
}
