export type { Entry, ErrorCode, ThreadEvent } from '../protocol/index.ts'
export { isMillraceError, MillraceError } from '../protocol/index.ts'
export type { Client } from './client.ts'
export { client } from './client.ts'
export type {
  Answer,
  ClientOptions,
  CreateOptions,
  Fetch,
  FollowOptions,
  ForkOptions,
  ListOptions,
  ReadOptions,
  RetryOptions,
  SendOptions,
  SocketLike,
  WatchOptions,
} from './options.ts'
export type { RemoteThread } from './remote-thread.ts'
export type { ThreadInfo, ThreadPage, ThreadStatus, ThreadView } from './views.ts'
export type { Followed, ThreadSnapshot } from './watch.ts'
export { watch } from './watch.ts'
