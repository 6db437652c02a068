export type {
  AppendResult,
  Batch,
  Budget,
  CallerUsage,
  Following,
  Lease,
  ListOptions,
  Quotas,
  SignalOptions,
  SnapshotWrite,
  StoredThread,
  ThreadFacts,
  ThreadStore,
} from '../log/index.ts'
export { entryBytes, entryJson, findLast, maxShareOfCaller, memoryStore, readLog } from '../log/index.ts'
export type { App, AppOptions, ThreadsOptions } from './app.ts'
export { extendRuns, findInputs, millrace } from './app.ts'
export type { Dispatcher, DispatcherWork, WokenThread, WorkOptions } from './dispatcher.ts'

export { memoryExchanges } from './exchanges/memory.ts'
export type { ExchangeStore } from './exchanges/store.ts'
export { labelOf } from './label.ts'
export type { TestScriptOptions } from './test-script/test-script.ts'
export { testScript } from './test-script/test-script.ts'
export type { Thread, ThreadCreateOptions } from './thread.ts'
