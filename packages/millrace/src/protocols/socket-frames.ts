import type { ErrorCode, ThreadEvent, VoiceCommand, VoiceEvent } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, nameOf } from '../protocol/index.ts'
import type { ApproveCommand, SendCommand, StopCommand } from './commands.ts'
import { approveFields, sendFields, stopFields } from './commands.ts'
import type { Fields } from './fields.ts'
import {
  checkFields,
  numberField,
  objectField,
  parseJson,
  positionField,
  required,
  textField,
  yesNoField,
} from './fields.ts'
import type { FinalMessage } from './final-message.ts'
import { encoder, oncePerEntry } from './once-per-entry.ts'

/** What a socket says beside the entries of the thread. `id` is that of the client's frame which it answers. */
export type ReplyFrame =
  | { readonly type: 'ready'; readonly head: number }
  | { readonly type: 'ack'; readonly id?: string | number; readonly seq: number }
  | {
      readonly type: 'error'
      readonly id?: string | number
      readonly code: ErrorCode | 'internal'
      readonly message: string
      /** How long to wait before the same is tried again. */
      readonly retryAfterMs?: number
      /** Under which the owner of the server was told more. */
      readonly errorId?: string
    }
  | { readonly type: 'ping' | 'pong' }
  | FinalMessage
  | VoiceEvent

interface Named {
  /** The client's own name for the frame, given back in the answer. */
  readonly id?: string | number
}

/** What a client may say. */
export type ClientFrame =
  | ({ readonly type: 'send' } & Named & SendCommand)
  | ({ readonly type: 'stop' } & Named & StopCommand)
  | ({ readonly type: 'approve' } & Named & ApproveCommand)
  | ({ readonly type: 'resume'; readonly after: number | 'now' } & Named)
  | ({ readonly type: 'ping' } & Named)
  | ({ readonly type: 'pong' } & Named)
  | (VoiceCommand & Named)

const op = 'socket.frame'
const anyText = textField({ most: 256 })
const named: Fields = {
  type: anyText,
  id: {
    schema: { type: ['string', 'number'] },
    problem: (value) => typeof value !== 'number' && anyText.problem(value),
  },
}

const place: Fields = {
  session: anyText,
  awaits: anyText,
  seq: required(numberField({ least: 1 })),
  round: required(numberField({ least: 1 })),
  chars: required(numberField({ least: 0 })),
}

const playback: Fields = {
  ...named,
  turn: required(numberField({ least: 1 })),
  position: required(numberField({ least: 0 })),
}

const frames: Readonly<Record<ClientFrame['type'], Fields>> = {
  send: { ...named, ...sendFields },
  stop: { ...named, ...stopFields },
  approve: { ...named, ...approveFields },
  resume: { ...named, after: required(positionField()) },
  ping: named,
  pong: named,
  voice: {
    ...named,
    speak: yesNoField(),
    listen: yesNoField(),
    sampleRate: numberField({ least: 8000, most: 48_000 }),
    from: objectField({ description: 'Where playback was when the connection was lost.' }),
  },
  voice_played: playback,
  voice_interrupt: playback,
}

/** Reads a frame of a client. Throws `invalid_input` that says what is wrong with it. */
export function readClientFrame(frame: unknown): ClientFrame {
  const type = isObject(frame) ? frame.type : undefined
  const fields =
    typeof type === 'string' && Object.hasOwn(frames, type) ? frames[type as ClientFrame['type']] : undefined
  if (!isObject(frame)) throw invalidInput(op, `a frame must be a JSON object, not ${kindOf(frame)}`)
  if (!fields)
    throw invalidInput(
      op,
      `the type of a frame must be one of ${Object.keys(frames).join(', ')}, not ${nameOf(type)}`,
    )
  const read = checkFields(frame, fields, { op, what: `the frame '${type}'` }) as unknown as ClientFrame
  if (read.type === 'voice' && read.from) checkFields(read.from, place, { op, what: 'the field from' })
  return read
}

export function parseFrame(text: string): unknown {
  return parseJson(text, { op, what: 'a frame' })
}

/** The name that a frame bears, also when nothing else in it is right. */
export function idOf(frame: unknown): { id?: string | number } {
  const id = isObject(frame) ? frame.id : undefined
  return typeof id === 'number' || (typeof id === 'string' && id.length <= 256) ? { id } : {}
}

const names: { readonly [Type in ThreadEvent['type']]?: string } = {
  'run-start': 'stream_start',
  text: 'stream_chunk',
  reasoning: 'stream_chunk',
  'provider-tool': 'tool_provider',
  'approval-request': 'tool_approval_request',
  approval: 'tool_approval',
}

/** What an event is called on a socket. A client that knows only `stream_*` and `tool_*` may leave the others alone. */
export function frameType(event: ThreadEvent): string {
  if (event.type === 'run-end') return event.outcome === 'failed' ? 'stream_error' : 'stream_end'
  return names[event.type] ?? event.type.replaceAll('-', '_')
}

/** The entry's own JSON with its `type` before it, as a frame of a socket. */
export const socketFrame = oncePerEntry((entry) =>
  textFrame(`{"type":${JSON.stringify(frameType(entry.event))},${JSON.stringify(entry).slice(1)}`),
)

/**
 * A text frame as it stands on the wire (RFC 6455 §5.2: final, not masked, since it comes from a server). To have each socket
 * frame the same text again costs as much as to send it.
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
  return bytes
}
