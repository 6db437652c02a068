import type { Channel } from './output-store.ts'
import { plainText, wholeUpTo } from './plain-text.ts'

/**
 * Reports a command's output while it runs, in few pieces and up to a limit, since every piece is kept
 * in the log.
 */
export interface LiveOutput {
  push(channel: Channel, bytes: Uint8Array): void
  /** Emits the rest; nothing is emitted afterwards. */
  close(): void
}

const [joinMs, tickMs, maxEmittedBytes] = [50, 1_000, 65_536]

/** Emits `{ output }` with new text; past the limit only `{ bytes }`, the total so far. */
export function liveOutput(emit: (data: { output: string } | { bytes: number }) => void): LiveOutput {
  const decoders = { 1: new TextDecoder(), 2: new TextDecoder() }
  let [waiting, bytes, emitted] = ['', 0, 0]
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function flush(end: number) {
    const text = plainText(waiting.slice(0, end))
    waiting = waiting.slice(end)
    if (text) emit({ output: text })
  }

  function due() {
    timer = undefined
    if (waiting) flush(wholeUpTo(waiting))
    else if (emitted >= maxEmittedBytes) emit({ bytes })
  }

  return {
    push(channel, chunk) {
      if (closed) return
      bytes += chunk.length
      if (emitted < maxEmittedBytes) {
        const shown = chunk.subarray(0, maxEmittedBytes - emitted)
        emitted += shown.length
        waiting += decoders[channel].decode(shown, { stream: true })
      }
      timer ??= setTimeout(due, waiting ? joinMs : tickMs)
    },
    close() {
      if (closed) return
      closed = true
      clearTimeout(timer)
      flush(waiting.length)
    },
  }
}
