import type {
  ApprovalEvent,
  InputUserMessage,
  ObserveCall,
  RunEvent,
  RunState,
  Telemetry,
  UserMessage,
} from '../protocol/index.ts'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { Loop } from './loop.ts'
import type { ThreadStart } from './loop-start.ts'
import type { Decision } from './run.ts'

/** Shared by all copies of this package, so that an agent of one can be used by the threads of another. */
export const threadDoor = Symbol.for('millrace.threadDoor')

/** What a thread needs of an agent: the same loop, going on from a log that somebody else keeps. */
export interface ThreadDoor {
  /** Throws `invalid_input` on what this agent cannot be told. */
  readMessage(input: string | InputUserMessage, op: string): UserMessage
  /** Throws `invalid_input` on what fits no open call, or not its tool's schema. */
  readDecision(decision: Decision, state: RunState, op: string): Promise<ApprovalEvent>
  /**
   * `relay` is told of each event as it happens, `observe` of each model call; no tool starts before `commit` has resolved.
   * `telemetry` looks on in place of the agent's own; `causes` are the trace contexts of those whose words it answers.
   */
  start(
    from: ThreadStart,
    options: {
      readonly context: unknown
      readonly relay: (event: RunEvent) => void
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

/** Throws `invalid_input` if it is no agent. */
export function threadDoorOf(agent: unknown, name: string): ThreadDoor {
  const door = isObject(agent) && (agent as Record<symbol, unknown>)[threadDoor]
  if (door) return door as ThreadDoor
  throw invalidInput('millrace', `the agent '${name}' must be made by agent({ … }), not ${kindOf(agent)}`)
}
