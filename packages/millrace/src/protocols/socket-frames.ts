import type { ErrorCode, ThreadEvent, VoiceCommand, VoiceEvent } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, nameOf } from '../protocol/index.ts'
import { entryJson } from '../threads/index.ts'
import type { ApproveCommand, RespondCommand, RewindCommand, SendCommand, StopCommand } from './commands.ts'
import { approveFields, respondFields, rewindFields, sendFields, stopFields } from './commands.ts'
import type { Fields } from './fields.ts'
import {
  booleanField,
  checkFields,
  numberField,
  objectField,
  parseJson,
  positionField,
  required,
  textField,
} from './fields.ts'
import type { FinalMessage } from './final-message.ts'
import { encoder, forNode, sharedFrames } from './once-per-entry.ts'

/**
 * The frames a server sends in addition to entries. `id` is the id of the client frame being
 * answered.
 */
export type ReplyFrame =
  | { readonly type: 'ready'; readonly head: number }
  | { readonly type: 'ack'; readonly id?: string | number; readonly seq: number }
  | {
      readonly type: 'error'
      readonly id?: string | number
      readonly code: ErrorCode | 'internal'
      readonly message: string
      /** How long to wait before trying again. */
      readonly retryAfterMs?: number
      /** The id under which the details were reported to the server's owner. */
      readonly errorId?: string
    }
  | { readonly type: 'ping' | 'pong' }
  | FinalMessage
  | VoiceEvent

interface WithId {
  /** Chosen by the client, and returned in the reply. */
  readonly id?: string | number
}

/** The frames a client may send. */
export type ClientFrame =
  | ({ readonly type: 'send' } & WithId & SendCommand)
  | ({ readonly type: 'stop' } & WithId & StopCommand)
  | ({ readonly type: 'approve' } & WithId & ApproveCommand)
  | ({ readonly type: 'respond' } & WithId & RespondCommand)
  | ({ readonly type: 'rewind' } & WithId & RewindCommand)
  | ({ readonly type: 'resume'; readonly after: number | 'now' } & WithId)
  | ({ readonly type: 'ping' } & WithId)
  | ({ readonly type: 'pong' } & WithId)
  | (VoiceCommand & WithId)

const op = 'socket.frame'
const anyText = textField({ max: 256 })
const commonFields: Fields = {
  type: anyText,
  id: {
    schema: { type: ['string', 'number'] },
    problem: (value) => typeof value !== 'number' && anyText.problem(value),
  },
}

const positionFields: Fields = {
  session: anyText,
  awaits: anyText,
  seq: required(numberField({ min: 1 })),
  round: required(numberField({ min: 1 })),
  chars: required(numberField({ min: 0 })),
}

const playbackFields: Fields = {
  ...commonFields,
  turn: required(numberField({ min: 1 })),
  position: required(numberField({ min: 0 })),
}

const frameFields: Readonly<Record<ClientFrame['type'], Fields>> = {
  send: { ...commonFields, ...sendFields },
  stop: { ...commonFields, ...stopFields },
  approve: { ...commonFields, ...approveFields },
  respond: { ...commonFields, ...respondFields },
  rewind: { ...commonFields, ...rewindFields },
  resume: { ...commonFields, after: required(positionField()) },
  ping: commonFields,
  pong: commonFields,
  voice: {
    ...commonFields,
    speak: booleanField(),
    listen: booleanField(),
    sampleRate: numberField({ min: 8000, max: 48_000 }),
    from: objectField({ description: 'The playback position when the connection was lost.' }),
  },
  voice_played: playbackFields,
  voice_interrupt: playbackFields,
}

/** Checks a frame from a client. Throws `invalid_input` if it is malformed. */
export function readClientFrame(frame: unknown): ClientFrame {
  const type = isObject(frame) ? frame.type : undefined
  const fields =
    typeof type === 'string' && Object.hasOwn(frameFields, type)
      ? frameFields[type as ClientFrame['type']]
      : undefined
  if (!isObject(frame)) throw invalidInput(op, `a frame must be a JSON object, not ${kindOf(frame)}`)
  if (!fields)
    throw invalidInput(
      op,
      `a frame's type must be one of ${Object.keys(frameFields).join(', ')}, not ${nameOf(type)}`,
    )
  const read = checkFields(frame, fields, { op, what: `the frame '${type}'` }) as unknown as ClientFrame
  if (read.type === 'voice' && read.from)
    checkFields(read.from, positionFields, { op, what: 'the field from' })
  return read
}

export function parseFrame(text: string): unknown {
  return parseJson(text, { op, what: 'a frame' })
}

/** The id of a frame, even if the rest of it is invalid. */
export function idOf(frame: unknown): { id?: string | number } {
  const id = isObject(frame) ? frame.id : undefined
  return typeof id === 'number' || (typeof id === 'string' && id.length <= 256) ? { id } : {}
}

const frameTypes: { readonly [Type in ThreadEvent['type']]?: string } = {
  'run-start': 'stream_start',
  text: 'stream_chunk',
  reasoning: 'stream_chunk',
  'provider-tool': 'tool_provider',
  'approval-request': 'tool_approval_request',
  approval: 'tool_approval',
}

/**
 * The frame type of an event. A client that only knows `stream_*` and `tool_*` may ignore the
 * others.
 */
export function frameType(event: ThreadEvent): string {
  if (event.type === 'run-end') return event.outcome === 'failed' ? 'stream_error' : 'stream_end'
  return frameTypes[event.type] ?? event.type.replaceAll('-', '_')
}

/** The JSON of an entry with the frame type in front, as a WebSocket frame. */
export const socketFrames = sharedFrames((entry) =>
  textFrame(`{"type":${JSON.stringify(frameType(entry.event))},${entryJson(entry).slice(1)}`),
)

/**
 * The bytes of a text frame (RFC 6455, 5.2: final, and not masked since it comes from a server).
 * Framing the same text again for each socket would cost as much as sending it.
 */
function textFrame(text: string): Uint8Array<ArrayBuffer> {
  const payload = encoder.encode(text)
  const { length } = payload
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const bytes = new Uint8Array(head + length)
  const view = new DataView(bytes.buffer)
  bytes[0] = 0x81
  if (head === 2) bytes[1] = length
  else if (head === 4) {
    bytes[1] = 126
    view.setUint16(2, length)
  } else {
    bytes[1] = 127
    view.setBigUint64(2, BigInt(length))
  }
  bytes.set(payload, head)
  return forNode(bytes)
}
