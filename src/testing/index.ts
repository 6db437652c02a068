export type { FakeClock } from './fake-clock.ts'
export { fakeClock } from './fake-clock.ts'
export type { ScriptRound, ScriptStep } from './script.ts'
export { script } from './script.ts'
export type { ScriptedModel, ScriptedModelOptions } from './scripted-model.ts'
export { scriptedModel } from './scripted-model.ts'
export type { Cassette, CassetteChunk, CassetteExchange } from './simulator/cassette.ts'
export type { FaultPlanOptions } from './simulator/fault-plan.ts'
export { faultPlan } from './simulator/fault-plan.ts'
export { printFaults } from './simulator/fault-print.ts'
export type { Fault, FaultKind, Place, RetryAfter, SseDress } from './simulator/faults.ts'
export type {
  ProviderSimulator,
  ProviderSimulatorOptions,
  SimulatedRequest,
} from './simulator/provider-simulator.ts'
export { providerSimulator } from './simulator/provider-simulator.ts'
export type { CassetteRecorder, RecordCassetteOptions } from './simulator/record-cassette.ts'
export { recordCassette } from './simulator/record-cassette.ts'
export type { CassettePlayer, ReplayCassetteOptions } from './simulator/replay-cassette.ts'
export { replayCassette } from './simulator/replay-cassette.ts'
export type { Wire } from './simulator/wire.ts'
export type { StoreCase, StoreSuiteOptions } from './store-suite.ts'
export { storeSuite } from './store-suite.ts'
