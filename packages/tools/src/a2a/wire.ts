import type { JsonObject, JsonValue } from 'millrace'

// The JSON of A2A 1.0 (https://a2a-protocol.org/v1.0.0/specification), as far as it is used here.

export const protocolVersion = '1.0'
/** Below the URL of the agent. */
export const cardPath = '.well-known/agent-card.json'
/** Of the JSON-RPC binding, in an agent card. */
export const jsonRpc = 'JSONRPC'

export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_REJECTED'
  | 'TASK_STATE_AUTH_REQUIRED'

const finalStates: ReadonlySet<string> = new Set([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
])

/** Whether a task in this state never changes again. */
export const isFinal = (state: string) => finalStates.has(state)

/** One of `text`, `raw` (base64), `url` and `data`. */
export interface Part {
  readonly text?: string
  readonly raw?: string
  readonly url?: string
  readonly data?: JsonValue
  readonly mediaType?: string
  readonly filename?: string
  readonly metadata?: JsonObject
}

export interface Message {
  readonly messageId: string
  readonly role: 'ROLE_USER' | 'ROLE_AGENT'
  readonly parts: readonly Part[]
  readonly contextId?: string
  readonly taskId?: string
}

export interface Artifact {
  readonly artifactId: string
  readonly name?: string
  readonly parts: readonly Part[]
}

export interface TaskStatus {
  readonly state: TaskState
  readonly message?: Message
  readonly timestamp?: string
}

export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts?: readonly Artifact[]
  readonly history?: readonly Message[]
  readonly metadata?: JsonObject
}

interface StatusUpdate {
  readonly taskId: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly metadata?: JsonObject
}

interface ArtifactUpdate {
  readonly taskId: string
  readonly contextId: string
  readonly artifact: Artifact
  /** The parts follow those that the artifact has. Otherwise they replace them. */
  readonly append?: boolean
  readonly lastChunk?: boolean
}

/** An event of a stream: has one of these. */
export interface StreamResponse {
  readonly task?: Task
  readonly message?: Message
  readonly statusUpdate?: StatusUpdate
  readonly artifactUpdate?: ArtifactUpdate
}

/** The codes of 5.4 of the specification, and those of JSON-RPC 2.0. */
export const errorCodes = {
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  VERSION_NOT_SUPPORTED: -32009,
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  /** Not part of the specification: for what the server rejects by itself. */
  REJECTED: -32000,
} as const

export type ErrorReason = keyof typeof errorCodes

/**
 * What the data parts of a Millrace agent are about, in their `data.type`. The first four are in
 * messages of the agent, the last one in those of a client.
 */
export type DataType = 'tool-call' | 'tool-progress' | 'tool-result' | 'approval-request' | 'result-request'
