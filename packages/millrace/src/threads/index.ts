export type {
  Budget,
  CallerUsage,
  Following,
  Lease,
  ListOptions,
  Quotas,
  SnapshotWrite,
  StoredThread,
  ThreadStore,
} from '../log/index.ts'
export { entryBytes, findLast, maxShareOfCaller, memoryStore, readLog } from '../log/index.ts'
export type { App, AppOptions, ThreadsOptions } from './app.ts'
export { millrace } from './app.ts'
export { errorListener } from './error-listener.ts'

export { memoryExchanges } from './exchanges/memory.ts'
export type { ExchangeStore } from './exchanges/store.ts'
export type { TestScriptOptions } from './test-script/test-script.ts'
export { testScript } from './test-script/test-script.ts'
export type { Thread } from './thread.ts'
