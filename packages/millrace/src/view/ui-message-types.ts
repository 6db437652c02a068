// Messages and chunks of the AI SDK's UI message stream, as far as they are written here. The names
// are those of the package `ai`; a test checks that they fit its types.

/** A message as `useChat` keeps it. */
export interface UIMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  metadata?: UIMessageMetadata
  readonly parts: UIMessagePart[]
}

export interface UIMessageMetadata {
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly totalTokens: number
    readonly reasoningTokens: number
    readonly cachedInputTokens: number
  }
}

export interface UIText {
  readonly type: 'text'
  readonly text: string
  readonly state?: 'streaming' | 'done'
}

/** `url` is a `data:` URL or the address of the file. */
export interface UIFile {
  readonly type: 'file'
  readonly mediaType: string
  readonly url: string
  readonly filename?: string
  /** The call whose result the file is a part of. */
  readonly providerMetadata?: { millrace: { callId: string } }
}

export interface UISource {
  readonly type: 'source-url'
  readonly sourceId: string
  readonly url: string
  readonly title?: string
}

interface UITool {
  readonly type: 'dynamic-tool'
  readonly toolCallId: string
  readonly toolName: string
  readonly providerExecuted?: boolean
}

interface UIApproval<Approved> {
  readonly id: string
  readonly approved: Approved
  readonly reason?: string
}

export type UIToolState =
  | { readonly state: 'input-streaming'; readonly input: unknown; readonly rawInput: string }
  | { readonly state: 'input-available'; readonly input: unknown }
  | {
      readonly state: 'approval-requested'
      readonly input: unknown
      readonly approval: {
        readonly id: string
        readonly requestReason?: string
        readonly descriptor?: unknown
      }
    }
  | { readonly state: 'output-available'; readonly input: unknown; readonly output: unknown }
  | { readonly state: 'output-error'; readonly input: unknown; readonly errorText: string }
  | { readonly state: 'output-denied'; readonly input: unknown; readonly approval: UIApproval<false> }

export type UIMessagePart =
  | UIText
  | { readonly type: 'reasoning'; readonly text: string; readonly state?: 'streaming' | 'done' }
  | UIFile
  | UISource
  | { readonly type: 'step-start' }
  | { readonly type: 'steering-message'; readonly id: string; readonly parts: (UIText | UIFile)[] }
  | (UITool & UIToolState)

/** Tools are always `dynamic`: the server need not know which ones the client has types for. */
interface ToolChunk {
  readonly toolCallId: string
  readonly toolName: string
  readonly dynamic: true
  readonly providerExecuted?: boolean
}

interface OutputChunk {
  readonly toolCallId: string
  readonly dynamic: true
  readonly providerExecuted?: boolean
}

export type UIMessageChunk =
  | { readonly type: 'start'; readonly messageId?: string }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | ({ readonly type: 'tool-input-start' } & ToolChunk)
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | ({ readonly type: 'tool-input-available'; readonly input: unknown } & ToolChunk)
  | ({ readonly type: 'tool-input-error'; readonly input: unknown; readonly errorText: string } & ToolChunk)
  | {
      readonly type: 'tool-approval-request'
      readonly approvalId: string
      readonly toolCallId: string
      readonly reason?: string
      readonly approvalDescriptor?: unknown
    }
  | {
      readonly type: 'tool-approval-response'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }
  | ({
      readonly type: 'tool-output-available'
      readonly output: unknown
      readonly preliminary?: true
    } & OutputChunk)
  | ({ readonly type: 'tool-output-error'; readonly errorText: string } & OutputChunk)
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | UISource
  | UIFile
  | { readonly type: 'steering-message'; readonly id: string; readonly parts: (UIText | UIFile)[] }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason?: string }
  | {
      readonly type: 'finish'
      readonly finishReason: UIFinishReason
      readonly messageMetadata?: UIMessageMetadata
    }

export type UIFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'interrupted' | 'other'
