export type { Budget } from './budget.ts'
export { budget, maxShareOfCaller } from './budget.ts'
export { controlAt } from './control.ts'
export { entryBytes } from './entry-bytes.ts'
export { followThread } from './follow-thread.ts'
export type { Following } from './follower.ts'
export type { Followers } from './followers.ts'
export { threadFollowers } from './followers.ts'
export { groupCommit } from './group-commit.ts'
export type { LiveLog } from './live-log.ts'
export type { MemoryStoreOptions } from './memory.ts'
export { memoryStore } from './memory.ts'
export type { MemoryLog } from './memory-log.ts'
export { memoryLog } from './memory-log.ts'
export type { Log } from './read-log.ts'
export { findLast, readLog } from './read-log.ts'
export type { Snapshot, SnapshotSource } from './snapshot.ts'
export { bytesOf, fromSnapshot, messagesBefore } from './snapshot.ts'
export type {
  Batch,
  CallerUsage,
  CreateOptions,
  ForkOptions,
  Lease,
  ListOptions,
  NewThread,
  Quotas,
  SignalOptions,
  SnapshotWrite,
  StoredThread,
  ThreadLabel,
  ThreadStore,
} from './store.ts'
export { threadNotFound } from './store-errors.ts'
export type { ThreadLog, ThreadLogs } from './thread-log.ts'
export { threadLogs } from './thread-log.ts'
export { pause } from './turns.ts'
