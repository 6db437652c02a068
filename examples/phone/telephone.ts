import type {
  Microphone,
  MicrophoneOptions,
  Played,
  Player,
  PlayerChunk,
  PlayerOptions,
} from 'millrace/client'
import { type Recording, recording } from './recording.ts'

/** A simulated telephone: sends audio and silence, and plays what it receives, in real time. */
export interface Telephone {
  readonly player: Player
  readonly microphone: Microphone
  readonly recording: Recording
  /** Resolves when all of it was sent. */
  say(pcm: Int16Array): Promise<void>
  /** Since the call started. */
  readonly seconds: number
}

const tickMs = 20

export function telephone(sampleRate: number): Telephone {
  const recorded = recording(sampleRate)
  const speaker = earpiece()
  let toSend: Int16Array = new Int16Array()
  let onSent = () => {}
  let onAudio: MicrophoneOptions['onAudio'] = () => {}
  let onPlayed: PlayerOptions['onPlayed'] = () => {}
  let startedAt = performance.now()
  let samples = 0
  let ticking: NodeJS.Timeout | undefined

  /** Sends and plays as much audio as is due. */
  function tick() {
    const due = Math.floor(((performance.now() - startedAt) * sampleRate) / 1000) - samples
    samples += due
    const sent = new Int16Array(due)
    sent.set(toSend.subarray(0, due))
    toSend = toSend.subarray(due)
    const played = speaker.next(due)
    recorded.add(sent, played)
    onAudio(sent)
    onPlayed(speaker.played())
    if (toSend.length === 0) onSent()
  }

  return {
    recording: recorded,
    get seconds() {
      return (performance.now() - startedAt) / 1000
    },
    say(pcm) {
      toSend = pcm
      return new Promise((resolve) => {
        onSent = resolve
      })
    },
    player: {
      ...speaker,
      async open(options) {
        onPlayed = options.onPlayed
      },
      async close() {
        onPlayed = () => {}
      },
    },
    microphone: {
      async open(options) {
        onAudio = options.onAudio
        startedAt = performance.now()
        ticking = setInterval(tick, tickMs)
      },
      async close() {
        clearInterval(ticking)
      },
    },
  }
}

/** The audio to be played, and how far it was played. */
function earpiece() {
  let chunks: PlayerChunk[] = []
  let isPaused = false
  let [clip, position] = [0, 0]
  const played = (): Played => ({ clip, position, idle: chunks.length === 0 })

  return {
    played,
    play: (chunk: PlayerChunk) => void chunks.push(chunk),
    /** The next samples; silence if there is nothing to play. */
    next(count: number): Int16Array {
      const sound = new Int16Array(count)
      for (let at = 0; at < count && !isPaused; ) {
        const chunk = chunks.shift()
        if (!chunk) break
        const [now, later] = [chunk.pcm.subarray(0, count - at), chunk.pcm.subarray(count - at)]
        sound.set(now, at)
        at += now.length
        clip = chunk.clip
        position = chunk.position + now.length
        if (later.length > 0) chunks.unshift({ clip, position, pcm: later })
      }
      return sound
    },
    async drop(dropped: number, from: number): Promise<Played> {
      chunks = chunks.flatMap((chunk) => {
        if (chunk.clip !== dropped || chunk.position + chunk.pcm.length <= from) return [chunk]
        if (chunk.position >= from) return []
        return [{ ...chunk, pcm: chunk.pcm.subarray(0, from - chunk.position) }]
      })
      return played()
    },
    async pause(): Promise<Played> {
      isPaused = true
      return played()
    },
    resume() {
      isPaused = false
    },
  }
}
