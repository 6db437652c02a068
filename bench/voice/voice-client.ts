import WebSocket from 'ws'
import {
  readAudioFrame,
  type TurnRecord,
  type VoiceCommand,
  type VoiceEvent,
} from '../../packages/millrace/src/protocol/voice.ts'
import { now } from './figures.ts'
import { audioCheck, type Player, player } from './playback.ts'

/** A client with audio: plays it in real time and reports its position. */
export interface VoiceClient {
  /** Resolves when the server has confirmed that it will speak. */
  readonly ready: Promise<void>
  readonly heard: HeardVoice
  /** Whether audio is playing. */
  readonly isPlaying: boolean
}

export interface HeardVoice {
  /** When the first audio of each turn came. */
  readonly firstAudio: readonly number[]
  readonly records: readonly TurnRecord[]
  /** How long there was nothing to play in each turn, in milliseconds. */
  readonly silence: readonly number[]
  /** The most buffered audio, in milliseconds. */
  readonly aheadMs: number
  readonly faults: readonly string[]
}

/** A turn that is being played. */
interface Playing {
  readonly turn: number
  readonly player: Player
  /** Its length, once known. */
  end?: number
  isDone: boolean
}

const sampleRate = 24_000
/** How often a client reports its position, and checks whether the turn has ended. */
const reportMs = 200
const checkMs = 20

export function voiceClient(url: string, thread: string): VoiceClient {
  const check = audioCheck()
  const faults: string[] = []
  const firstAudio: number[] = []
  const records: TurnRecord[] = []
  const players: Player[] = []
  let playing: Playing | undefined
  let timer: NodeJS.Timeout | undefined
  const started = Promise.withResolvers<void>()

  const socket = new WebSocket(`${url.replace('http', 'ws')}/threads/${thread}/socket?after=0`)
  const say = (command: VoiceCommand) => socket.send(JSON.stringify(command))

  function takeAudio(bytes: Buffer) {
    const frame = readAudioFrame(bytes)
    if (typeof frame === 'string') return void faults.push(frame)
    check.takeFrame(frame)
    const one = playing?.turn === frame.turn ? playing : begin(frame.turn)
    one.player.add(frame.pcm.length)
  }

  function takeEvent(event: VoiceEvent) {
    check.takeEvent(event)
    if (event.type === 'voice' && event.speak) started.resolve()
    else if (event.type === 'voice_record') records.push(event.record)
    else if (event.type === 'voice_end' && playing?.turn === event.turn) playing.end = event.samples
  }

  /** Reports the position until the turn has been played. */
  function begin(turn: number): Playing {
    const one: Playing = { turn, player: player(sampleRate, now), isDone: false }
    firstAudio.push(now())
    players.push(one.player)
    let reported = 0
    clearInterval(timer)
    timer = setInterval(() => {
      const position = one.player.position()
      one.isDone = position === one.end
      if (!one.isDone && now() - reported < reportMs) return
      reported = now()
      say({ type: 'voice_played', turn, position })
      if (one.isDone) clearInterval(timer)
    }, checkMs)
    playing = one
    return one
  }

  function fail(why: string) {
    faults.push(why)
    started.resolve()
  }

  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) return takeAudio(data)
    const message: { readonly type?: string } = JSON.parse(String(data))
    if (message.type === 'ready') say({ type: 'voice', speak: true, sampleRate })
    else if (message.type === 'error') fail(String(data))
    else if (message.type?.startsWith('voice')) takeEvent(message as VoiceEvent)
  })
  socket.on('error', (error) => faults.push(error.message))
  socket.on('close', (code, reason) => {
    clearInterval(timer)
    fail(`closed with ${code} ${reason}`)
  })
  return {
    ready: started.promise,
    get isPlaying() {
      return playing !== undefined && !playing.isDone
    },
    get heard() {
      const most = Math.max(0, ...players.map((player) => player.most))
      const silence = players.map(({ silentMs }) => silentMs)
      const aheadMs = (most / sampleRate) * 1000
      return { firstAudio, records, silence, aheadMs, faults: [...faults, ...check.faults].slice(0, 3) }
    },
  }
}
