import type { ClientFrame } from './socket-frames.ts'
import { parseFrame, readClientFrame } from './socket-frames.ts'
import { tokenBucket } from './token-bucket.ts'

export interface InboxOptions {
  readonly framesPerSecond: number
  /** Does what a frame says. Frames come one after the other, in their order. */
  readonly handleFrame: (frame: ClientFrame) => Promise<void>
  /** Called with a frame that cannot be read, or could not be handled. */
  readonly refuse: (thrown: unknown, frame: unknown) => void
  /** More came than may come. Nothing is taken any more. */
  readonly onFlood: () => void
}

/** What a client says. */
export interface Inbox {
  /** Counts a frame. Those of a microphone are counted by themselves: telephones send fifty a second. */
  count(isAudio: boolean): void
  take(text: string): void
  close(): void
}

/** So many frames may wait for those before them. */
const mostWaiting = 256

export function socketInbox({ framesPerSecond, handleFrame, refuse, onFlood }: InboxOptions): Inbox {
  const allowance = tokenBucket({ perSecond: framesPerSecond, burst: 4 * framesPerSecond })
  const hearing = tokenBucket({ perSecond: 2 * framesPerSecond, burst: 8 * framesPerSecond })
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
      refuse(thrown, frame)
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
      if (!isClosed && (isAudio ? hearing : allowance).take() > 0) flood()
    },
    take(text) {
      if (isClosed) return
      if (waiting.length >= mostWaiting) return flood()
      waiting.push(text)
      void work()
    },
    close,
  }
}

/**
 * Reads the heads of the frames that a WebSocket's client sends (RFC 6455, 5.2) and calls back with the opcode of each, until that
 * gives `false`. `ws` tells of whole messages only: fragments without end, or without content, never show.
 */
export function frameHeads(onFrame: (opcode: number) => boolean): (chunk: Uint8Array) => void {
  const head = new Uint8Array(14)
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
      head[filled++] = chunk[at++] as number
      if (filled < 2 || filled < sizeOf(head)) continue
      filled = 0
      payloadLeft = payloadOf(head)
      if (!onFrame((head[0] as number) & 0x0f)) return
    }
  }
}

/** Two bytes, a longer length, and the mask. */
function sizeOf([, second = 0]: Uint8Array): number {
  const length = second & 0x7f
  return 2 + (length === 127 ? 8 : length === 126 ? 2 : 0) + (second & 0x80 ? 4 : 0)
}

function payloadOf(head: Uint8Array): number {
  const length = (head[1] as number) & 0x7f
  const view = new DataView(head.buffer)
  if (length < 126) return length
  return length === 126 ? view.getUint16(2) : Number(view.getBigUint64(2))
}
