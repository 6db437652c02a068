export type {
  Batch,
  Budget,
  CallerUsage,
  CreateOptions,
  Following,
  ForkOptions,
  Lease,
  ListOptions,
  MemoryStoreOptions,
  NewThread,
  Quotas,
  SignalOptions,
  SnapshotWrite,
  StoredThread,
  ThreadLabel,
  ThreadStore,
} from '../log/index.ts'
export { entryBytes, findLast, memoryStore, mostOfCaller, readLog } from '../log/index.ts'
export type { App, AppOptions, QuotaUsage, ThreadOptions, ThreadsOptions } from './app.ts'
export { millrace } from './app.ts'
export { errorListener } from './error-listener.ts'
export type { MemoryExchangesOptions } from './exchanges/memory.ts'
export { memoryExchanges } from './exchanges/memory.ts'
export type { ExchangeStore } from './exchanges/store.ts'
export type { TestScriptOptions } from './test-script/test-script.ts'
export { testScript } from './test-script/test-script.ts'
export type { ReadOptions, SayOptions, Thread } from './thread.ts'
