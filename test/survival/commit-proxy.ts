import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Random } from './random.ts'

/** A proxy in front of PostgreSQL. It stops with the test. */
export interface CommitProxy {
  /** The same address, through the proxy. */
  through(address: string): string
  /**
   * Cuts the connection of the next write, so that its acknowledgement is lost. Resolves when that
   * is done.
   */
  cut(): Promise<void>
}

/** How long PostgreSQL has to commit before the connection is cut, at most. */
const commitMs = 20

export async function commitProxy(target: number, random: Random): Promise<CommitProxy> {
  const open = new Set<Socket>()
  /** The names of prepared statements that write to logs. */
  const writes = new Set<string>()
  let onCut: (() => void) | undefined

  /** A statement is sent with its text once per connection, and then by its name. */
  function isWrite(request: string): boolean {
    for (const [, name = '', text = ''] of request.matchAll(/(millrace_[0-9a-f]{16})\0([^\0]*)/g))
      if (text.includes('.entries (thread,')) writes.add(name)
    return [...writes].some((name) => request.includes(name))
  }

  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    const both = [near, far]
    let onClosed: (() => void) | undefined
    near.on('data', (data) => {
      far.write(data)
      if (!isWrite(data.toString('latin1')) || !onCut || onClosed) return
      onClosed = onCut
      onCut = undefined
      // Most are committed by then. Some never reach the server, or only a part of them does.
      if (random.chance(0.2)) near.destroy()
      else far.once('data', () => setTimeout(() => near.destroy(), random.whole(0, commitMs)))
    })
    far.on('data', (data) => {
      if (!onClosed) near.write(data)
    })
    near.on('close', () => onClosed?.())
    for (const socket of both) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
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
    through(address) {
      const url = new URL(address)
      url.port = `${(server.address() as AddressInfo).port}`
      return url.href
    },
    cut: () =>
      new Promise((resolve) => {
        onCut = resolve
      }),
  }
}
