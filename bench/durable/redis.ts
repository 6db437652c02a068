import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export const hasRedis = () => spawnSync('redis-server', ['--version']).status === 0

/** Runs `work` with a Redis server that keeps everything in memory. */
export async function withRedis<Result>(work: (url: string) => Promise<Result>): Promise<Result> {
  const port = await freePort()
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  try {
    await answers(port)
    return await work(`redis://127.0.0.1:${port}`)
  } finally {
    const exited = once(child, 'exit')
    if (child.kill()) await exited
  }
}

async function answers(port: number): Promise<void> {
  for (let left = 200; ; left--) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch (error) {
      if (left === 0) throw error
      await wait(20)
    } finally {
      socket.destroy()
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address ? address.port : 0
}
