import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { close, listenOnPort } from './accept.ts'

async function listening(port = 0) {
  const server = createServer((_, response) => response.end('hello'))
  const servers = await listenOnPort(server, { port, host: '127.0.0.1' })
  const closeAll = async () => {
    server.closeAllConnections()
    await Promise.all(servers.map(close))
  }
  onTestFinished(closeAll)
  return { server, port: (server.address() as AddressInfo).port, closeAll }
}

test.runIf(process.platform === 'linux')(
  'many connections are accepted in one turn of the event loop',
  async () => {
    const { server, port } = await listening()
    const clients = 64
    let accepted = 0
    server.on('connection', () => accepted++)
    for (let count = 0; count < clients; count++) {
      const socket = connect(port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
    }
    let turns = 0
    for (; accepted < clients; turns++) await new Promise((resolve) => setImmediate(resolve))
    expect(turns).toBeLessThan(clients)
  },
)

test('each connection is served, and the port is free again after the close', async () => {
  const { port, closeAll } = await listening()
  const answers = Array.from({ length: 40 }, async () => {
    const response = await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })
    return response.text()
  })
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['hello']))
  await closeAll()
  await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow()
  expect((await listening(port)).port).toBe(port)
})

test('a port that is in use is not shared', async () => {
  const { port } = await listening()
  await expect(listening(port)).rejects.toThrow(/EADDRINUSE/)
})
