import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

export interface CuttingProxy extends AsyncDisposable {
  readonly url: string
  /** How many connections were opened. */
  readonly count: number
  /** Whether new connections are cut at once. */
  isDown: boolean
  /** Cuts all open connections. */
  cut(): void
}

export interface ProxyOptions {
  readonly port: number
  /**
   * After how many bytes from the server the nth connection (from 0) is cut; never if undefined.
   */
  readonly bytes?: (nth: number) => number | undefined
  /** Forwards at most this many bytes at a time. */
  readonly slice?: number
}

/** A proxy that cuts connections at any byte from the server. */
export async function cuttingProxy({
  port,
  bytes = () => undefined,
  slice,
}: ProxyOptions): Promise<CuttingProxy> {
  const open = new Set<Socket>()
  let count = 0

  async function pass(from: Socket, to: Socket, left: number) {
    for await (const chunk of from) {
      const step = slice ?? chunk.length
      for (let at = 0; at < chunk.length; at += step) {
        const part: Buffer = chunk.subarray(at, Math.min(at + step, chunk.length, at + left))
        left -= part.length
        if (part.length > 0 && !to.write(part)) await once(to, 'drain')
        if (left === 0) return to.destroySoon()
        if (slice) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    to.end()
  }

  const server = createServer((incoming) => {
    if (proxy.isDown) return incoming.destroy()
    const outgoing = connect(port, '127.0.0.1')
    for (const socket of [incoming, outgoing]) {
      open.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.once('close', () => {
        open.delete(socket)
        incoming.destroy()
        outgoing.destroy()
      })
    }
    const left = bytes(count++) ?? Number.POSITIVE_INFINITY
    const ignore = () => {}
    pass(incoming, outgoing, Number.POSITIVE_INFINITY).catch(ignore)
    pass(outgoing, incoming, left).catch(ignore)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: own } = server.address() as AddressInfo
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  const proxy: CuttingProxy = {
    isDown: false,
    url: `http://127.0.0.1:${own}`,
    get count() {
      return count
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
