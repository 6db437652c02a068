import type { BudgetStore, LiveLog } from '../log/index.ts'
import type {
  AgentDetails,
  ApprovalEvent,
  InputMessage,
  InputUserMessage,
  JsonObject,
  Message,
  ObserveCall,
  RunRequest,
  RunState,
  Telemetry,
  UserMessage,
} from '../protocol/index.ts'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { PolicyChain, Tool } from '../tools/index.ts'
import type { Budget } from './budget-options.ts'
import type { Loop, LoopStart } from './loop.ts'
import type { Decision } from './run.ts'

/**
 * Shared by all copies of this package, so that an agent of one copy works in the threads of
 * another.
 */
export const agentInternals = Symbol.for('millrace.agentInternals')

/** What this process adds to the runs of a thread, such as the tools of an editor. */
export interface RunExtension {
  /** Read before each round. A tool of the agent with the same name takes precedence. */
  readonly tools: () => readonly Tool[]
  /** Rules on top of the agent's. The strictest decision wins. */
  readonly policies: PolicyChain
}

/** What a thread needs from an agent. */
export interface AgentInternals {
  /** Throws `invalid_input` on a message that this agent does not accept. */
  readMessage(input: string | InputUserMessage, op: string, request?: RunRequest): UserMessage
  /** Throws `invalid_input` on a request that this agent cannot follow. */
  readRequest(request: RunRequest, op: string): RunRequest
  /** Checks a conversation, and repairs its history. Throws `invalid_input` if it is not possible. */
  readHistory(messages: readonly InputMessage[], op: string, request?: RunRequest): Message[]
  /**
   * Rejects with `invalid_input` if no open call matches, or if its input does not fit the tool's
   * schema.
   */
  readDecision(decision: Decision, state: RunState, op: string): Promise<ApprovalEvent>
  /**
   * Starts a run that writes to a log. `observe` is called for each model call. No tool starts
   * before `commit` has resolved. `telemetry` replaces the agent's own. `parentTraces` are the
   * trace contexts of the inputs that the run answers.
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
      /** The metadata of the thread, unless the log has changed it. */
      readonly metadata?: JsonObject | undefined
      /** Replaces limits of the agent's budget. */
      readonly budget?: Budget | undefined
      readonly budgetStore?: BudgetStore | undefined
      readonly parentTraces: readonly string[]
      readonly extension?: RunExtension | undefined
    },
  ): Loop
  /** How it is set up. */
  describe(): AgentDetails
  /** The notices of its tools, as from `noticesOf`. */
  notices(): Promise<readonly string[]>
}

/** Throws `invalid_input` if it is not an agent. */
export function internalsOf(agent: unknown, name: string): AgentInternals {
  const internals = isObject(agent) && (agent as Record<symbol, unknown>)[agentInternals]
  if (internals) return internals as AgentInternals
  throw invalidInput(
    'millrace',
    `the agent '${name}' must be created with agent({ … }), not ${kindOf(agent)}`,
  )
}
