import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'

/** A client frame (RFC 6455, 5.2), with a mask of zeros. */
export function clientFrame(opcode: number, payload = Buffer.alloc(0), { fin = true } = {}): Buffer {
  const { length } = payload
  const [code, size] = length < 126 ? [length, 0] : length < 65_536 ? [126, 2] : [127, 8]
  const head = Buffer.alloc(2 + size + 4)
  head[0] = (fin ? 0x80 : 0) | opcode
  head[1] = 0x80 | code
  if (size > 0) head.writeUIntBE(length, size === 2 ? 2 : 4, size === 2 ? 2 : 6)
  return Buffer.concat([head, payload])
}

export interface RawSocket {
  readonly socket: Socket
  /** The close code of the server; undefined if the connection ends without one. */
  readonly closed: Promise<number | undefined>
}

/** A WebSocket whose bytes a test writes itself. Resolves when it is open. */
export async function rawSocket(url: string): Promise<RawSocket> {
  const { port, pathname, search } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  let bytes = Buffer.alloc(0)
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk])
    if (bytes.includes('\r\n\r\n')) open()
  })
  const closed = new Promise<number | undefined>((resolve) =>
    socket.once('close', () => resolve(closeCodeIn(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)))),
  )
  socket.write(
    `GET ${pathname}${search} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  )
  await opened
  return { socket, closed }
}

/** Reads small, unmasked frames only. */
function closeCodeIn(frames: Buffer): number | undefined {
  for (let at = 0; at + 1 < frames.length; at += 2 + (frames[at + 1] as number))
    if (frames[at] === 0x88) return frames.readUInt16BE(at + 2)
  return undefined
}
