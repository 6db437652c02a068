export type {
  AgentDetails,
  AgentInfo,
  AgentModel,
  ApprovalAnswer,
  Entry,
  ErrorCode,
  Exchange,
  ExchangesOptions,
  ExportedThread,
  ExportOptions,
  Feedback,
  FollowOptions,
  ReadableThread,
  Remembered,
  RememberFor,
  RespondOptions,
  RewindOptions,
  RunRequest,
  SendOptions,
  SpendingKey,
  SpendingOptions,
  SpendingRow,
  ThreadEvent,
  ThreadFilters,
  ThreadInfo,
  ThreadPage,
  ThreadSnapshot,
  ThreadStatus,
  ThreadView,
  ToolContent,
  TurnRecord,
  VoicePosition,
  WireExchange,
} from '../protocol/index.ts'
export {
  exportThread,
  isMillraceError,
  MillraceError,
  readExport,
  toolContent,
  wholeLog,
} from '../protocol/index.ts'
export type { BrowserMicrophoneOptions } from './browser-microphone.ts'
export { browserMicrophone } from './browser-microphone.ts'
export type { BrowserPlayerOptions } from './browser-player.ts'
export { browserPlayer } from './browser-player.ts'
export type { Client, LimitsUsage } from './client.ts'
export { client } from './client.ts'
export type { Microphone, MicrophoneOptions } from './microphone.ts'
export type {
  ClientOptions,
  CreateThreadOptions,
  Fetch,
  ForkThreadOptions,
  ImportThreadOptions,
  ListThreadsOptions,
  ReadEntriesOptions,
  ReconnectOptions,
  SocketLike,
  WatchOptions,
} from './options.ts'
export type { Played, Player, PlayerChunk, PlayerOptions } from './player.ts'
export type { RemoteThread } from './remote-thread.ts'
export type {
  VoiceLine,
  VoiceLineOptions,
  VoiceProblem,
  VoiceSentence,
  VoiceState,
  VoiceTranscript,
} from './voice-options.ts'
export type { Followable } from './watch.ts'
export { watch } from './watch.ts'
