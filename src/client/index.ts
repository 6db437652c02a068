export type {
  Answer,
  Entry,
  ErrorCode,
  Exchange,
  ExchangesOptions,
  ExportedThread,
  FollowOptions,
  ReadableThread,
  Remembered,
  RememberFor,
  SendOptions,
  ThreadEvent,
  ThreadInfo,
  ThreadPage,
  ThreadSnapshot,
  ThreadStatus,
  ThreadView,
  WireExchange,
} from '../protocol/index.ts'
export { exportThread, isMillraceError, MillraceError, wholeLog } from '../protocol/index.ts'
export type { Client } from './client.ts'
export { client } from './client.ts'
export type {
  ClientOptions,
  CreateOptions,
  Fetch,
  ForkOptions,
  ListOptions,
  ReadOptions,
  RetryOptions,
  SocketLike,
  WatchOptions,
} from './options.ts'
export type { RemoteThread } from './remote-thread.ts'
export type { Followed } from './watch.ts'
export { watch } from './watch.ts'
