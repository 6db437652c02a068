import type { Channel } from './output-store.ts'
import { plainText, wholeUpTo } from './plain-text.ts'

/** Tells what a command prints while it prints, in few pieces, and not all of it if there is much: a log keeps every piece. */
export interface LiveOutput {
  push(channel: Channel, bytes: Uint8Array): void
  /** Tells what is still to be told. Nothing is told after it. */
  close(): void
}

const [joinMs, tickMs, maxToldBytes] = [50, 1_000, 65_536]

/** `{ output }` with what is new; when there has been too much of that only `{ bytes }`, how many there are so far. */
export function liveOutput(tell: (data: { output: string } | { bytes: number }) => void): LiveOutput {
  const decoders = { 1: new TextDecoder(), 2: new TextDecoder() }
  let [waiting, bytes, told] = ['', 0, 0]
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function flush(end: number) {
    const text = plainText(waiting.slice(0, end))
    waiting = waiting.slice(end)
    if (text) tell({ output: text })
  }

  function due() {
    timer = undefined
    if (waiting) flush(wholeUpTo(waiting))
    else if (told >= maxToldBytes) tell({ bytes })
  }

  return {
    push(channel, chunk) {
      if (closed) return
      bytes += chunk.length
      if (told < maxToldBytes) {
        const shown = chunk.subarray(0, maxToldBytes - told)
        told += shown.length
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
