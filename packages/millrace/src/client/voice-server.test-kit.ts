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

type Wish = Extract<VoiceCommand, { type: 'voice' }>

/** One client, as the server sees it. */
interface VoiceVisit {
  readonly url: string
  readonly protocols: string
  readonly commands: VoiceCommand[]
  readonly audio: AudioFrame[]
  tell(...events: (VoiceEvent | object)[]): void
  /** Sends so many samples of a turn, from a position on. */
  speak(turn: number, position: number, samples: number): void
  /** Cut off, or closed with a code. */
  end(code?: number): void
  /** What was said about how far it is. */
  reports(): VoiceCommand[]
}

export interface VoiceServerOptions {
  /** What is answered to the wish to speak; that it is so, if absent. */
  readonly answer?: (wish: Wish, nth: number) => object
  /** Refuses upgrades with this status, and answers requests so. */
  readonly status?: number
}

export interface VoiceServer extends AsyncDisposable {
  readonly url: string
  readonly visits: readonly VoiceVisit[]
  /** How many connections there are. */
  readonly open: number
  /** The nth client, once it has said what it wants, from 0. */
  visit(nth: number): Promise<VoiceVisit>
}

/** A small server that says what a test tells it to. `await using` closes it. */
export async function voiceServer({ answer, status }: VoiceServerOptions = {}): Promise<VoiceServer> {
  const visits: VoiceVisit[] = []
  const open = new Set<Socket>()
  const server = createServer((_, response) => {
    const error = status === undefined ? undefined : { code: 'auth', message: 'who are you?' }
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
      const visit = visitOf(ws, request.url ?? '', request.headers['sec-websocket-protocol'] ?? '')
      const nth = visits.push(visit) - 1
      ws.on('error', () => {})
      ws.on('message', (data, isBinary) => {
        if (isBinary) return void visit.audio.push(readAudioFrame(data as Buffer) as AudioFrame)
        const command = JSON.parse(String(data)) as VoiceCommand
        visit.commands.push(command)
        if (command.type !== 'voice' || visit.commands.length > 1) return
        const { speak, listen, sampleRate } = command
        visit.tell(answer?.(command, nth) ?? { type: 'voice', session: `s${nth}`, speak, listen, sampleRate })
      })
      visit.tell({ type: 'ready', head: 1 })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    visits,
    get open() {
      return open.size
    },
    async visit(nth) {
      await until(() => (visits[nth]?.commands.length ?? 0) > 0)
      return visits[nth] as VoiceVisit
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function visitOf(ws: WebSocket, url: string, protocols: string): VoiceVisit {
  const commands: VoiceCommand[] = []
  let frames = 0
  return {
    url,
    protocols,
    commands,
    audio: [],
    tell(...events) {
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

/** A player without a clock: it plays as much as it is told to. */
export function ownedPlayer() {
  let queue: ReturnType<typeof playQueue> | undefined
  let options: PlayerOptions | undefined
  const heard: number[] = []
  const log: string[] = []
  const player: Player = {
    async open(given) {
      log.push('open')
      options = given
      queue = playQueue({ sampleRate: given.sampleRate, outputRate: given.sampleRate })
    },
    play: (chunk) => queue?.push(chunk),
    drop: async (clip, position) => now(queue?.drop(clip, position)),
    pause: async () => now(queue?.pause()),
    resume: () => queue?.resume(),
    async close() {
      log.push('close')
    },
  }
  return {
    player,
    log,
    /** The samples that went out. */
    heard,
    /** Plays so many samples, or as many as there are, and says how far it is. */
    play(samples: number) {
      const out = new Float32Array(samples)
      const before = now(queue?.played())
      queue?.fill(out)
      const after = now(queue?.played())
      if (after.position !== before.position || after.clip !== before.clip) heard.push(...out)
      options?.onPlayed(after)
      return after
    },
    /** Whether there is something that it could play. */
    hasAudio: () => queue?.played().idle === false,
  }
}

function now<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the player was not opened')
  return value
}

/** A microphone that hears what it is told to. */
export function ownedMicrophone({ refuse }: { readonly refuse?: Error } = {}) {
  const log: string[] = []
  let options: MicrophoneOptions | undefined
  const microphone: Microphone = {
    async open(given) {
      log.push('open')
      if (refuse) throw refuse
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
    unplug: () => options?.onEnd(new Error('it was unplugged')),
  }
}
