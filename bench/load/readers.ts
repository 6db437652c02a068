// The least that reads the two transports, so that the reading costs little beside what is read. Bytes come as latin1: all that is
// said here is ASCII.

/** Is handed pieces of what comes after the head of an answer; tells each entry's JSON. */
export type Reader = (piece: string) => void

/** Frames of server-sent events, of which only those with a number count. */
export function sseReader(onEntry: (json: string) => void): Reader {
  let rest = ''
  return (piece) => {
    rest = rest === '' ? piece : rest + piece
    let start = 0
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n', start)) {
      if (rest.startsWith('id: ', start)) onEntry(rest.slice(rest.indexOf('\ndata: ', start) + 7, end))
      start = end + 2
    }
    rest = rest.slice(start)
  }
}

export interface FrameListeners {
  readonly onText: (json: string) => void
  readonly onPing: (payload: string) => void
  readonly onClose: (code: number, reason: string) => void
}

/** Frames of a WebSocket's server (RFC 6455 §5.2), which are whole and not masked. */
export function frameReader({ onText, onPing, onClose }: FrameListeners): Reader {
  let rest = ''
  return (piece) => {
    rest = rest === '' ? piece : rest + piece
    let start = 0
    for (;;) {
      const frame = frameAt(rest, start)
      if (!frame) break
      const { opcode, payload } = frame
      start = frame.end
      if (opcode === 1) onText(payload)
      else if (opcode === 8) onClose(numberAt(payload, 0, 2), payload.slice(2))
      else if (opcode === 9) onPing(payload)
    }
    rest = rest.slice(start)
  }
}

function frameAt(bytes: string, at: number) {
  if (bytes.length < at + 2) return undefined
  const short = bytes.charCodeAt(at + 1)
  const extra = short < 126 ? 0 : short === 126 ? 2 : 8
  const begin = at + 2 + extra
  if (bytes.length < begin) return undefined
  const end = begin + (extra === 0 ? short : numberAt(bytes, at + 2, extra))
  if (bytes.length < end) return undefined
  return { opcode: bytes.charCodeAt(at) & 15, payload: bytes.slice(begin, end), end }
}

function numberAt(bytes: string, at: number, length: number): number {
  let number = 0
  for (let index = at; index < at + length; index++) number = number * 256 + bytes.charCodeAt(index)
  return number
}

/** A frame of a client that answers a ping. The mask is zero, which is a mask like any other. */
export const pong = (payload: string) => `\x8a${String.fromCharCode(0x80 | payload.length)}\0\0\0\0${payload}`
