/** File descriptors: 1 is stdout, 2 is stderr. */
export type Channel = 1 | 2

/** Bytes of both channels, in the order they arrived. */
interface Block {
  readonly bytes: Buffer
  used: number
  /** Pairs of a channel and a number of bytes. */
  readonly runs: number[]
}

export interface OutputText {
  readonly head: string
  readonly tail: string
  /** How many bytes were dropped between the two. */
  readonly dropped: number
}

/** Keeps the beginning and the end of a command's output in bounded memory. Decodes on read. */
export interface OutputStore {
  push(channel: Channel, bytes: Uint8Array): void
  /** All bytes received, kept or not. */
  readonly bytes: number
  /** Whether there is output since the last `take`. */
  readonly waiting: boolean
  /** The kept output of both channels, or of one. */
  read(channel?: Channel): OutputText
  /**
   * Removes and returns the output since the last `take`. An incomplete character waits for its
   * rest.
   */
  take(): OutputText
}

const blockBytes = 16_384

export function outputStore(maxBytes: number): OutputStore {
  const half = Math.ceil(maxBytes / 2)
  let head: Block[] = []
  let tail: Block[] = []
  let [headBytes, tailBytes, dropped, total] = [0, 0, 0, 0]
  let decoders = newDecoders()

  function append(blocks: Block[], channel: Channel, bytes: Uint8Array) {
    for (let at = 0; at < bytes.length; ) {
      let block = blocks.at(-1)
      if (!block || block.used === blockBytes) {
        block = { bytes: Buffer.allocUnsafe(blockBytes), used: 0, runs: [] }
        blocks.push(block)
      }
      const size = Math.min(bytes.length - at, blockBytes - block.used)
      // Copied: a small chunk would keep the socket's whole buffer alive.
      block.bytes.set(bytes.subarray(at, at + size), block.used)
      block.used += size
      at += size
      const { runs } = block
      if (runs.at(-2) === channel) runs[runs.length - 1] = (runs.at(-1) ?? 0) + size
      else runs.push(channel, size)
    }
  }

  return {
    push(channel, bytes) {
      total += bytes.length
      const room = Math.max(0, half - headBytes)
      const first = bytes.subarray(0, room)
      const rest = bytes.subarray(room)
      append(head, channel, first)
      append(tail, channel, rest)
      headBytes += first.length
      tailBytes += rest.length
      for (let oldest = tail[0]; oldest && tailBytes - oldest.used >= half; oldest = tail[0]) {
        tail.shift()
        tailBytes -= oldest.used
        dropped += oldest.used
      }
    },
    get bytes() {
      return total
    },
    get waiting() {
      return headBytes > 0
    },
    read(channel) {
      const decode = newDecoders()
      const text = decodeBlocks(head, decode, channel)
      if (dropped === 0) {
        const rest = decodeBlocks(tail, decode, channel)
        return { head: text + rest + flush(decode), tail: '', dropped }
      }
      const after = newDecoders()
      return {
        head: text + flush(decode),
        tail: decodeBlocks(tail, after, channel, { cut: true }) + flush(after),
        dropped,
      }
    },
    take() {
      const text = decodeBlocks(head, decoders)
      if (dropped > 0) decoders = newDecoders()
      const rest = decodeBlocks(tail, decoders, undefined, { cut: dropped > 0 })
      const taken =
        dropped > 0 ? { head: text, tail: rest, dropped } : { head: text + rest, tail: '', dropped }
      head = []
      tail = []
      headBytes = tailBytes = dropped = 0
      return taken
    },
  }
}

type Decoders = Readonly<Record<Channel, TextDecoder>>

function newDecoders(): Decoders {
  return {
    1: new TextDecoder('utf-8', { ignoreBOM: true }),
    2: new TextDecoder('utf-8', { ignoreBOM: true }),
  }
}

function flush(decoders: Decoders): string {
  return decoders[1].decode() + decoders[2].decode()
}

/**
 * `cut`: output before the first block was dropped, so a partial character at its start is skipped.
 */
function decodeBlocks(
  blocks: readonly Block[],
  decoders: Decoders,
  only?: Channel,
  { cut = false } = {},
): string {
  const pieces: string[] = []
  const started = new Set<Channel>()
  for (const { bytes, runs } of blocks) {
    let at = 0
    for (let index = 0; index < runs.length; index += 2) {
      const channel = runs[index] as Channel
      const end = at + (runs[index + 1] ?? 0)
      let from = at
      if (cut && !started.has(channel)) {
        while (from < end && from < at + 3 && isContinuation(bytes[from])) from++
        started.add(channel)
      }
      if (only === undefined || only === channel)
        pieces.push(decoders[channel].decode(bytes.subarray(from, end), { stream: true }))
      at = end
    }
  }
  return pieces.join('')
}

/** RFC 3629: 10xxxxxx, the second to fourth byte of a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000
}
