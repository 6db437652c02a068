import type { ClientFrame } from './socket-frames.ts'
import { parseFrame, readClientFrame } from './socket-frames.ts'
import { tokenBucket } from './token-bucket.ts'

export interface InboxOptions {
  readonly framesPerSecond: number
  /** Does what a frame says. Frames come one after the other, in their order. */
  readonly obey: (frame: ClientFrame) => Promise<void>
  /** Is told of a frame that cannot be read, or could not be obeyed. */
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

export function socketInbox({ framesPerSecond, obey, refuse, onFlood }: InboxOptions): Inbox {
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
      await obey(readClientFrame(frame))
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
