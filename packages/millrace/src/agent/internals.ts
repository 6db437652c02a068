import type { LiveLog } from '../log/index.ts'
import type {
  ApprovalEvent,
  InputUserMessage,
  ObserveCall,
  RunState,
  Telemetry,
  UserMessage,
} from '../protocol/index.ts'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { Loop, LoopStart } from './loop.ts'
import type { Decision } from './run.ts'

/** Shared by all copies of this package, so that an agent of one can be used by the threads of another. */
export const agentInternals = Symbol.for('millrace.agentInternals')

/** What a thread needs of an agent. */
export interface AgentInternals {
  /** Throws `invalid_input` on a message that this agent cannot take. */
  readMessage(input: string | InputUserMessage, op: string): UserMessage
  /** Throws `invalid_input` on a decision that fits no open call, or not its tool's schema. */
  readDecision(decision: Decision, state: RunState, op: string): Promise<ApprovalEvent>
  /**
   * Starts a run that writes to a log. `observe` is called with each model call; no tool starts before `commit` has resolved.
   * `telemetry` is used in place of the agent's own; `causes` are the trace contexts of the inputs that it answers.
   */
  start(
    log: LiveLog,
    start: LoopStart,
    options: {
      readonly context: unknown
      readonly commit: () => Promise<void>
      readonly observe?: ObserveCall | undefined
      readonly telemetry?: Telemetry | undefined
      readonly conversation: string
      readonly causes: readonly string[]
    },
  ): Loop
  /** Those of its tools: `noticesOf`. */
  notices(): Promise<readonly string[]>
}

/** Throws `invalid_input` if it is not an agent. */
export function internalsOf(agent: unknown, name: string): AgentInternals {
  const internals = isObject(agent) && (agent as Record<symbol, unknown>)[agentInternals]
  if (internals) return internals as AgentInternals
  throw invalidInput('millrace', `the agent '${name}' must be made by agent({ … }), not ${kindOf(agent)}`)
}
