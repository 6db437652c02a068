export type { App, AppOptions, ThreadOptions, ThreadsOptions } from './app.ts'
export { millrace } from './app.ts'
export { errorListener } from './error-listener.ts'
export type { Following } from './hub.ts'
export type { MemoryStoreOptions } from './memory.ts'
export { memoryStore } from './memory.ts'
export type {
  Batch,
  Lease,
  ListOptions,
  NewThread,
  ThreadStore,
} from './store.ts'
export type { ReadOptions, Thread } from './thread.ts'
