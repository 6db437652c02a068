export type { Agent } from './agent.ts'
export { agent } from './agent.ts'

export type { AgentInput } from './input.ts'
export type { AgentInternals } from './internals.ts'
export { internalsOf } from './internals.ts'
export type { Loop } from './loop.ts'
export { onlookers, telemetryProblem } from './onlookers.ts'
export type { AgentOptions, RunOptions } from './options.ts'
export { agentDefaults } from './options.ts'

export type { PrepareRound } from './request.ts'

export type { Decision, Run, RunResult } from './run.ts'

export { retractNotice } from './run-text.ts'
export type { Shorten } from './shorten.ts'

export { summarize } from './summarize.ts'
export type { AgentTool, CallTypesOf, RunEventOf } from './tool-types.ts'
