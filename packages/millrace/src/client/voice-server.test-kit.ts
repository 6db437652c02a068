import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import type { AudioFrame, VoiceCommand, VoiceEvent } from '../protocol/index.ts'
import { readAudioFrame, writeAudioFrame } from '../protocol/index.ts'
import { until } from './follow.test-kit.ts'
import type { Microphone, MicrophoneOptions, Player, PlayerOptions } from './index.ts'
import { playQueue } from './play-queue.ts'

type OpenCommand = Extract<VoiceCommand, { type: 'voice' }>

/** A client connection, as the server sees it. */
interface VoiceConnection {
  readonly url: string
  readonly protocols: string
  readonly commands: VoiceCommand[]
  readonly audio: AudioFrame[]
  send(...events: (VoiceEvent | object)[]): void
  /** Sends `samples` samples of a turn, starting at a position. */
  speak(turn: number, position: number, samples: number): void
  /** Cuts the connection, or closes it with a code. */
  end(code?: number): void
  /** All commands except `voice`. */
  reports(): VoiceCommand[]
}

export interface VoiceServerOptions {
  /** The reply to the `voice` command. By default everything is accepted. */
  readonly answer?: (command: OpenCommand, nth: number) => object
  /** Rejects upgrades and requests with this status. */
  readonly status?: number
}

export interface VoiceServer extends AsyncDisposable {
  readonly url: string
  readonly connections: readonly VoiceConnection[]
  /** How many sockets are open. */
  readonly open: number
  /** The nth connection (from 0), once it has sent its first command. */
  connection(nth: number): Promise<VoiceConnection>
}

/** A small voice server that a test controls. Closed by `await using`. */
export async function voiceServer({ answer, status }: VoiceServerOptions = {}): Promise<VoiceServer> {
  const connections: VoiceConnection[] = []
  const open = new Set<Socket>()
  const server = createServer((_, response) => {
    const error = status === undefined ? undefined : { code: 'auth', message: 'sign in first' }
    response.writeHead(status ?? 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(error ? { error } : { id: 't1' }))
  })
  const upgrades = new WebSocketServer({ noServer: true, handleProtocols: () => 'millrace.v1' })
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => open.delete(socket))
  })
  server.on('upgrade', (request, socket, head) => {
    if (status !== undefined)
      return socket.end(`HTTP/1.1 ${status} No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
    upgrades.handleUpgrade(request, socket, head, (ws: WebSocket) => {
      const connection = connectionOf(ws, request.url ?? '', request.headers['sec-websocket-protocol'] ?? '')
      const nth = connections.push(connection) - 1
      ws.on('error', () => {})
      ws.on('message', (data, isBinary) => {
        if (isBinary) return void connection.audio.push(readAudioFrame(data as Buffer) as AudioFrame)
        const command = JSON.parse(String(data)) as VoiceCommand
        connection.commands.push(command)
        if (command.type !== 'voice' || connection.commands.length > 1) return
        const { speak, listen, sampleRate } = command
        connection.send(
          answer?.(command, nth) ?? { type: 'voice', session: `s${nth}`, speak, listen, sampleRate },
        )
      })
      connection.send({ type: 'ready', head: 1 })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    get open() {
      return open.size
    },
    async connection(nth) {
      await until(() => (connections[nth]?.commands.length ?? 0) > 0)
      return connections[nth] as VoiceConnection
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function connectionOf(ws: WebSocket, url: string, protocols: string): VoiceConnection {
  const commands: VoiceCommand[] = []
  let frames = 0
  return {
    url,
    protocols,
    commands,
    audio: [],
    send(...events) {
      for (const event of events) ws.send(JSON.stringify(event))
    },
    speak(turn, position, samples) {
      const pcm = Int16Array.from({ length: samples }, (_, index) => position + index)
      ws.send(writeAudioFrame({ kind: 'speech', turn, seq: frames++, position, pcm }))
    },
    end: (code) => (code === undefined ? ws.terminate() : ws.close(code)),
    reports: () => commands.filter(({ type }) => type !== 'voice'),
  }
}

/** A player without a clock, which plays when a test calls `play()`. */
export function manualPlayer() {
  let queue: ReturnType<typeof playQueue> | undefined
  let options: PlayerOptions | undefined
  const output: number[] = []
  const log: string[] = []
  const player: Player = {
    async open(given) {
      log.push('open')
      options = given
      queue = playQueue({ sampleRate: given.sampleRate, outputRate: given.sampleRate })
    },
    play: (chunk) => queue?.push(chunk),
    drop: async (clip, position) => defined(queue?.drop(clip, position)),
    pause: async () => defined(queue?.pause()),
    resume: () => queue?.resume(),
    async close() {
      log.push('close')
    },
  }
  return {
    player,
    log,
    /** All samples that were played. */
    output,
    /** Plays up to `samples` samples and returns the position. */
    play(samples: number) {
      const out = new Float32Array(samples)
      const before = defined(queue?.played())
      queue?.fill(out)
      const after = defined(queue?.played())
      if (after.position !== before.position || after.clip !== before.clip) output.push(...out)
      options?.onPlayed(after)
      return after
    },
    /** Whether there is audio to play. */
    hasAudio: () => queue?.played().idle === false,
  }
}

function defined<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the player was not opened')
  return value
}

/** A microphone that records what a test passes to `say()`. */
export function manualMicrophone({ openError }: { readonly openError?: Error } = {}) {
  const log: string[] = []
  let options: MicrophoneOptions | undefined
  const microphone: Microphone = {
    async open(given) {
      log.push('open')
      if (openError) throw openError
      options = given
    },
    async close() {
      log.push('close')
    },
  }
  return {
    microphone,
    log,
    say: (pcm: Int16Array) => options?.onAudio(pcm),
    unplug: () => options?.onEnd(new Error('unplugged')),
  }
}
