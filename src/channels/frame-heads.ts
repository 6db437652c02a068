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
