export type { App, AppOptions, ThreadOptions, ThreadsOptions } from './app.ts'
export { millrace } from './app.ts'
export type { Following } from './hub.ts'
export { memoryStore } from './memory.ts'
export type {
  Batch,
  Lease,
  ListOptions,
  NewThread,
  ThreadInfo,
  ThreadPage,
  ThreadStatus,
  ThreadStore,
} from './store.ts'
export type { Answer, FollowOptions, ReadOptions, SendOptions, Thread, ThreadView } from './thread.ts'
