import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A proxy in front of PostgreSQL that can lose answers. It stops with the test. */
export interface LosingProxy {
  readonly url: string
  /** How many answers were lost. */
  readonly lost: () => number
  /**
   * From now on, the connection is cut instead of passing an answer for which this returns true:
   * what was requested has happened, but the caller does not know.
   */
  loseIf(isLost: () => boolean): void
}

export async function losingProxy(target: string): Promise<LosingProxy> {
  const address = new URL(target)
  const { hostname, port } = address
  let isLost = () => false
  let lost = 0
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    near.on('data', (data) => far.write(data))
    far.on('data', (data) => {
      // Only the answers to queries, not those while connecting: `C` is "command complete".
      if (data.includes('C\0\0\0') && isLost()) {
        lost++
        near.destroy()
        far.destroy()
      } else near.write(data)
    })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  address.port = String((server.address() as AddressInfo).port)
  return {
    url: address.href,
    lost: () => lost,
    loseIf(given) {
      isLost = given
    },
  }
}
