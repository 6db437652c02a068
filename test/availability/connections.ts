import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Random } from '../survival/random.ts'
import { hostileUser, longThread, tokenOf } from './options.ts'
import type { Attack } from './requests.ts'

/** The longest time a connection is held before the next is opened. */
const heldMs = 10_000

const authorization = `authorization: Bearer ${tokenOf(hostileUser)}`

/** A client frame (RFC 6455 §5.2). A zero mask is valid. */
function frame(first: number, payload = ''): string {
  const { length } = payload
  const head =
    length < 126
      ? String.fromCharCode(0x80 | length)
      : String.fromCharCode(0x80 | 126, length >> 8, length & 255)
  return `${String.fromCharCode(first)}${head}\0\0\0\0${payload}`
}

/** Complete frames, and the start of a message that never ends. */
const pings = frame(0x89, 'p').repeat(200)
const pongs = frame(0x8a, 'p').repeat(200)
const emptyFragments = frame(0x01) + frame(0x00).repeat(200)
const commands = frame(0x81, '{"type":"ping"}').repeat(50)
const nonsense = frame(0x81, '[[[[').repeat(50)

/** Attacks that open their own connections. */
export function connections(url: string): Readonly<Record<string, Attack>> {
  const { hostname, port, host } = new URL(url)

  async function hold(write: string, then: (socket: Socket) => Promise<unknown>): Promise<string> {
    const socket = connect(Number(port), hostname)
    let failed: string | undefined
    socket.on('error', (error: Error & { code?: string }) => {
      failed = error.code
    })
    const closed = once(socket, 'close').catch(() => {})
    try {
      await Promise.race([once(socket, 'connect'), closed])
      socket.write(write, 'latin1')
      await Promise.race([then(socket), closed, wait(heldMs)])
      return failed ?? (socket.destroyed || socket.readableEnded ? 'was closed' : 'stayed')
    } catch (error) {
      return failed ?? String((error as { code?: string }).code)
    } finally {
      socket.destroy()
    }
  }

  const upgrade = (thread: string) =>
    `GET /threads/${thread}/socket?after=0 HTTP/1.1\r\nhost: ${host}\r\n${authorization}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
  const follow = `GET /threads/${longThread}/events?after=0 HTTP/1.1\r\nhost: ${host}\r\n${authorization}\r\naccept: text/event-stream\r\n\r\n`
  const post = `POST /threads HTTP/1.1\r\nhost: ${host}\r\n${authorization}\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n`

  /** Reads the head of the response and then nothing. */
  const neverRead = async (socket: Socket) => {
    await once(socket, 'data')
    socket.pause()
    await wait(heldMs)
  }
  const flood = (random: Random) => async (socket: Socket) => {
    await once(socket, 'data')
    socket.resume()
    const frames = random.pick([pings, pongs, emptyFragments, commands, nonsense])
    while (!socket.destroyed) {
      if (!socket.write(frames, 'latin1')) await Promise.race([once(socket, 'drain'), once(socket, 'close')])
      await wait(5)
    }
  }
  const trickle = async (socket: Socket) => {
    socket.resume()
    while (!socket.destroyed) {
      socket.write('{')
      await wait(200)
    }
  }
  const stay = async (socket: Socket) => {
    socket.resume()
    await wait(heldMs)
  }

  return {
    'streams that are never read': () => hold(follow, neverRead),
    'sockets that are never read': () => hold(upgrade(longThread), neverRead),
    'floods of frames': (random) => hold(upgrade(longThread), flood(random)),
    'bodies that trickle': () => hold(post, trickle),
    'connections that say nothing': () => hold('', stay),
    'requests that never end': () => hold('GET /threads HTTP/1.1\r\nhost:', stay),
    'two hosts': () => hold(`GET /healthz HTTP/1.1\r\nhost: ${host}\r\nhost: evil.example\r\n\r\n`, stay),
  }
}
