export type {
  Batch,
  CallerUsage,
  CreateOptions,
  ForkOptions,
  Lease,
  ListOptions,
  MemoryStoreOptions,
  NewThread,
  SignalOptions,
  SnapshotWrite,
  StoredThread,
  ThreadLabel,
  ThreadStore,
} from './log/index.ts'
export { memoryStore } from './log/index.ts'
