import type { ClientFrame } from './socket-frames.ts'
import { parseFrame, readClientFrame } from './socket-frames.ts'
import { tokenBucket } from './token-bucket.ts'

export interface InboxOptions {
  readonly framesPerSecond: number
  /** Handles a frame. Called for one frame at a time, in order. */
  readonly handleFrame: (frame: ClientFrame) => Promise<void>
  /** Called for a frame that is malformed or failed. */
  readonly onError: (thrown: unknown, frame: unknown) => void
  /** Called when the client has sent too many frames. Further frames are ignored. */
  readonly onFlood: () => void
}

/** The queue of frames from one client. */
export interface Inbox {
  /** Counts a frame. Audio frames have their own limit: phone systems send fifty per second. */
  count(isAudio: boolean): void
  take(text: string): void
  close(): void
}

/** How many frames may wait to be handled. */
const maxWaiting = 256

export function socketInbox({ framesPerSecond, handleFrame, onError, onFlood }: InboxOptions): Inbox {
  const allowance = tokenBucket({ perSecond: framesPerSecond, burst: 4 * framesPerSecond })
  const audioAllowance = tokenBucket({ perSecond: 2 * framesPerSecond, burst: 8 * framesPerSecond })
  const waiting: string[] = []
  let isWorking = false
  let isClosed = false

  async function work() {
    if (isWorking) return
    isWorking = true
    while (waiting.length > 0) await handle(waiting.shift() as string)
    isWorking = false
  }

  async function handle(text: string) {
    let frame: unknown
    try {
      frame = parseFrame(text)
      await handleFrame(readClientFrame(frame))
    } catch (thrown) {
      onError(thrown, frame)
    }
  }

  function flood() {
    close()
    onFlood()
  }

  function close() {
    isClosed = true
    waiting.length = 0
  }

  return {
    count(isAudio) {
      if (!isClosed && (isAudio ? audioAllowance : allowance).take() > 0) flood()
    },
    take(text) {
      if (isClosed) return
      if (waiting.length >= maxWaiting) return flood()
      waiting.push(text)
      void work()
    },
    close,
  }
}

/**
 * Reads the headers of WebSocket frames (RFC 6455, 5.2) and calls `onFrame` with each opcode, until
 * it returns false. `ws` only reports complete messages, so endless or empty fragments would go
 * unnoticed.
 */
export function frameHeaderReader(onFrame: (opcode: number) => boolean): (chunk: Uint8Array) => void {
  const header = new Uint8Array(14)
  let filled = 0
  let payloadLeft = 0
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (payloadLeft > 0) {
        const step = Math.min(payloadLeft, chunk.length - at)
        payloadLeft -= step
        at += step
        continue
      }
      header[filled++] = chunk[at++] as number
      if (filled < 2 || filled < sizeOf(header)) continue
      filled = 0
      payloadLeft = payloadOf(header)
      if (!onFrame((header[0] as number) & 0x0f)) return
    }
  }
}

/** Two bytes, the extended length, and the mask. */
function sizeOf(header: Uint8Array): number {
  // Not destructured: for a typed array, that takes an iterator.
  const second = header[1] as number
  const length = second & 0x7f
  return 2 + (length === 127 ? 8 : length === 126 ? 2 : 0) + (second & 0x80 ? 4 : 0)
}

function payloadOf(header: Uint8Array): number {
  const length = (header[1] as number) & 0x7f
  if (length < 126) return length
  const view = new DataView(header.buffer)
  return length === 126 ? view.getUint16(2) : Number(view.getBigUint64(2))
}
