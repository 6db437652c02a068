export type { App, AppOptions, QuotaUsage, ThreadOptions, ThreadsOptions } from './app.ts'
export { millrace } from './app.ts'
export type { Budget } from './budget.ts'
export { mostOfCaller } from './budget.ts'
export { entryBytes } from './entry-bytes.ts'
export { errorListener } from './error-listener.ts'
export type { MemoryExchangesOptions } from './exchanges/memory.ts'
export { memoryExchanges } from './exchanges/memory.ts'
export type { ExchangeStore } from './exchanges/store.ts'
export type { Following } from './hub.ts'
export type { MemoryStoreOptions } from './memory.ts'
export { memoryStore } from './memory.ts'
export { findLast, readLog } from './read-log.ts'
export { searchText, searchWords } from './search.ts'
export type {
  Batch,
  CallerUsage,
  CreateOptions,
  Lease,
  ListOptions,
  NewThread,
  Quotas,
  SnapshotWrite,
  StoredThread,
  ThreadStore,
} from './store.ts'
export type { TestScriptOptions } from './test-script/test-script.ts'
export { testScript } from './test-script/test-script.ts'
export type { ReadOptions, SayOptions, Thread } from './thread.ts'
export { titleOf } from './title.ts'
