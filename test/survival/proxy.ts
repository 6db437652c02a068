import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Random } from './random.ts'

/** A proxy that cuts every connection sooner or later. It stops with the test. */
export interface CuttingProxy {
  readonly url: string
  /** How many connections it has cut. */
  readonly cuts: () => number
}

/**
 * Cuts a connection after some hundred milliseconds, or anywhere within a response after a number
 * of bytes.
 */
export async function cuttingProxy(target: string, random: Random): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  let cuts = 0

  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    const both = [near, far]
    let bytes = random.chance(0.5) ? random.whole(0, 20_000) : Number.POSITIVE_INFINITY
    const cut = () => {
      if (near.destroyed) return
      cuts++
      if (random.chance(0.5)) near.resetAndDestroy()
      else near.destroy()
    }
    const timer = setTimeout(cut, random.whole(50, 500))
    near.pipe(far)
    far.on('data', (data) => {
      bytes -= data.length
      if (bytes >= 0) return void near.write(data)
      // Bytes within the limit arrive, and may end in the middle of a frame or a character.
      near.write(data.subarray(0, bytes), cut)
    })
    for (const socket of both) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        clearTimeout(timer)
        for (const other of both) other.destroy()
      })
    }
  })

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of open) socket.destroy()
    await closed
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
  }
}
