export type { Budget } from './budget.ts'
export { budget, maxShareOfCaller } from './budget.ts'
export { controlAt, metadataAt } from './control.ts'
export { deadline } from './deadline.ts'
export type { PackedEntry } from './entries.ts'
export { logProblem, packEntries, readEntries } from './entries.ts'
export { entryBytes } from './entry-bytes.ts'
export { entryJson } from './entry-json.ts'
export { excerptOf } from './excerpt.ts'
export { followThread } from './follow-thread.ts'
export type { Following } from './follower.ts'
export type { Followers } from './followers.ts'
export { threadFollowers } from './followers.ts'
export { groupCommit } from './group-commit.ts'
export type { BudgetStore, BudgetUse, Meter, SharedBudget } from './holds.ts'
export { decideHold, left, sumOfHolds } from './holds.ts'
export type { LiveLog } from './live-log.ts'
export type { MemoryStoreOptions } from './memory.ts'
export { memoryStore } from './memory.ts'
export type { LogReader, MemoryLog } from './memory-log.ts'
export { memoryLog } from './memory-log.ts'
export { patchedThread, patchesIn } from './patched.ts'
export type { Log } from './read-log.ts'
export { findLast, readLog } from './read-log.ts'
export type { EntryRow, Origin, ThreadColumns } from './rows.ts'
export { entriesOf, gap, infoOf, priorityOf, textBytes, textsOf } from './rows.ts'
export type { Snapshot, SnapshotSource } from './snapshot.ts'
export { bytesOf, fromSnapshot, messagesBefore } from './snapshot.ts'
export type { DayTotal, HeldAmounts, SpentRow } from './spending.ts'
export {
  budgetUse,
  heldAmounts,
  holdGraceMs,
  spendingFilter,
  spendingRows,
  spendsIn,
  sumColumns,
  totalColumns,
} from './spending.ts'
export type {
  AppendResult,
  Batch,
  CallerUsage,
  CreateOptions,
  DayLimit,
  ForkOptions,
  Hold,
  HoldResult,
  KeyedEntry,
  Lease,
  ListOptions,
  NewThread,
  Priority,
  Quotas,
  RunLimits,
  RunnableThread,
  SharedRate,
  Signaled,
  SignalOptions,
  SnapshotWrite,
  StoredThread,
  ThreadFacts,
  ThreadLabel,
  ThreadStore,
  ThreadText,
  Watch,
  Watcher,
} from './store.ts'
export { badBatch, badFork, badLog, placeOfCursor, storeClosed, threadNotFound } from './store-errors.ts'
export { takeTurns } from './take-turns.ts'
export { fromColumn, optional, toColumn } from './text-columns.ts'
export type { ThreadLog, ThreadLogs } from './thread-log.ts'
export { threadLogs } from './thread-log.ts'
export { pause } from './turns.ts'
export {
  byteLength,
  bytesOfThread,
  checkQuotas,
  inputQuotas,
  inputsTakenBy,
  isWaitingInput,
  minuteOf,
  sharedBytes,
  sumOf,
  tokensOf,
  waitingIn,
} from './usage.ts'
export type { Watchers } from './watchers.ts'
export { watchers } from './watchers.ts'
