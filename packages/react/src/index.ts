'use client'

export type {
  Answer,
  AnswerCall,
  AnswerNotice,
  AnswerPart,
  AnswerText,
  MessageVersions,
  SentMessage,
  ThreadMessage,
  ToolRequest,
} from './messages.ts'
export type { Sendable, ThreadConnection, ThreadHandle } from './thread-handle.ts'
export type { ClientTool, ClientToolContext, UseThreadOptions } from './thread-options.ts'
export { useThread } from './use-thread.ts'
export { useVoice } from './use-voice.ts'
export type { UseVoiceOptions, VoiceHandle, VoiceStartOptions } from './voice-store.ts'
