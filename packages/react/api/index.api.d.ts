import {
  ApprovalAnswer,
  ClientOptions,
  CreateThreadOptions,
  Microphone,
  MillraceError,
  Player,
  RemoteThread,
  RespondOptions,
  RunRequest,
  SendOptions,
  ThreadStatus,
  VoiceLineOptions,
  VoiceState,
} from 'millrace/client'

import {
  ApprovalView,
  CallState,
  CallView,
  ErrorJson,
  NoticeView,
  Outcome,
  ToolResultEvent,
  Usage,
  UserMessage,
} from 'millrace/view'

interface Answer extends MessageBase {
  readonly role: 'assistant'
  readonly seq: number
  readonly agent: string
  readonly parts: readonly AnswerPart[]
  readonly status: 'running' | 'waiting' | Exclude<Outcome, 'suspended'>
  readonly error?: ErrorJson
  readonly usage?: Usage
}

interface AnswerCall {
  readonly kind: 'call'
  readonly key: string
  readonly callId: string
  readonly name: string
  readonly state: CallState
  readonly input: CallView['input']
  readonly changedInput?: CallView['input']
  readonly problem?: string
  readonly requests: readonly ToolRequest[]
  readonly display?: NonNullable<CallView['display']>
  readonly printed: string
  readonly progress: readonly unknown[]
  readonly messages: readonly ThreadMessage[]
  readonly result?: ToolResultEvent
  readonly provider?: NonNullable<CallView['provider']>
  readonly startedAt?: number
  readonly endedAt?: number
}

interface AnswerNotice {
  readonly kind: 'notice'
  readonly key: string
  readonly notice: NoticeView['notice']
  readonly text: string
  readonly detail?: string
}

type AnswerPart = AnswerText | AnswerCall | AnswerNotice

interface AnswerText {
  readonly kind: 'text' | 'reasoning'
  readonly key: string
  readonly text: string
  readonly isStreaming: boolean
  readonly played?: number
}

type ClientTool =
  | RunClientTool
  | (Omit<NonNullable<RunRequest['tools']>[number], 'name'> & {
      readonly run?: RunClientTool
    })

interface ClientToolContext {
  readonly callId: string
  readonly signal: AbortSignal
}

interface MessageBase {
  readonly key: string
  readonly versions?: MessageVersions
}

interface MessageVersions {
  readonly current: number
  readonly count: number
  readonly rewinds: readonly (number | undefined)[]
}

type RunClientTool = {
  run(input: ToolRequest['input'], context: ClientToolContext): unknown
}['run']

type Sendable = Parameters<RemoteThread['send']>[0]

interface SentMessage extends MessageBase {
  readonly role: 'user'
  readonly seq?: number
  readonly text: string
  readonly content: UserMessage['content']
  readonly mode: NonNullable<SendOptions['mode']>
  readonly status: 'sending' | 'failed' | 'queued' | 'held' | 'read'
  readonly error?: MillraceError
}

type ThreadConnection = 'connecting' | 'open' | 'reconnecting' | 'closed'

interface ThreadHandle {
  readonly id: string | undefined
  readonly messages: readonly ThreadMessage[]
  readonly status: 'loading' | ThreadStatus
  readonly connection: ThreadConnection
  readonly approvals: readonly ToolRequest[]
  readonly error: MillraceError | undefined
  readonly send: (message: Sendable, options?: Pick<SendOptions, 'mode' | 'request'>) => Promise<void>
  readonly stop: (reason?: string) => Promise<void>
  readonly approve: (callId: string, answer?: Pick<ApprovalAnswer, 'input' | 'remember'>) => Promise<void>
  readonly deny: (callId: string, reason?: string) => Promise<void>
  readonly respond: (callId: string, output: unknown, options?: RespondOptions) => Promise<void>
  readonly retry: (message?: ThreadMessage) => Promise<void>
  readonly edit: (message: SentMessage, content: Sendable) => Promise<void>
  readonly selectVersion: (message: ThreadMessage, index: number) => Promise<void>
  readonly discard: (message: SentMessage) => void
  readonly open: () => Promise<RemoteThread>
}

type ThreadMessage = SentMessage | Answer

type ToolRequest = ApprovalView['request']

interface UseThreadOptions
  extends Omit<ClientOptions, 'onOpen' | 'onRetry'>,
    Pick<CreateThreadOptions, 'agent' | 'metadata'> {
  readonly url: string
  readonly id?: string | undefined
  readonly onCreate?: ((id: string) => void) | undefined
  readonly tools?: Readonly<Record<string, ClientTool>> | undefined
  readonly request?: RunRequest | undefined
}

interface UseVoiceOptions extends Pick<VoiceLineOptions, 'sampleRate' | 'onRecord'> {
  readonly player?: (() => Player) | undefined
  readonly microphone?: (() => Microphone) | undefined
}

interface VoiceHandle {
  readonly state: VoiceState
  readonly isSpeaking: boolean
  readonly sentence: string
  readonly isUserSpeaking: boolean
  readonly transcript: string
  readonly error: string | undefined
  readonly start: (options?: VoiceStartOptions) => Promise<void>
  readonly stop: () => Promise<void>
  readonly interrupt: () => void
  readonly level: () => number
}

interface VoiceStartOptions {
  readonly speak?: boolean | undefined
  readonly listen?: boolean | undefined
}

declare function useThread(options: UseThreadOptions): ThreadHandle

declare function useVoice(thread: Pick<ThreadHandle, 'open'>, options?: UseVoiceOptions): VoiceHandle

export {
  type Answer,
  type AnswerCall,
  type AnswerNotice,
  type AnswerPart,
  type AnswerText,
  type ClientTool,
  type ClientToolContext,
  type MessageVersions,
  type Sendable,
  type SentMessage,
  type ThreadConnection,
  type ThreadHandle,
  type ThreadMessage,
  type ToolRequest,
  type UseThreadOptions,
  type UseVoiceOptions,
  type VoiceHandle,
  type VoiceStartOptions,
  useThread,
  useVoice,
}
