import type {
  Microphone,
  MicrophoneOptions,
  Played,
  Player,
  PlayerChunk,
  PlayerOptions,
} from 'millrace/client'
import { type Recording, recording } from './recording.ts'

/** A telephone without a person: what it is told to say goes out in real time, and so does silence; what comes in is heard in real time. */
export interface Telephone {
  readonly player: Player
  readonly microphone: Microphone
  readonly recording: Recording
  /** Resolves when all of it has been said. */
  say(pcm: Int16Array): Promise<void>
  /** Since it was picked up. */
  readonly seconds: number
}

/** Between two looks at the clock. */
const tickMs = 20

export function telephone(sampleRate: number): Telephone {
  const tape = recording(sampleRate)
  const ear = earpiece()
  let toSay: Int16Array = new Int16Array()
  let onSaid = () => {}
  let onAudio: MicrophoneOptions['onAudio'] = () => {}
  let onPlayed: PlayerOptions['onPlayed'] = () => {}
  let pickedUpAt = performance.now()
  let samples = 0
  let ticking: NodeJS.Timeout | undefined

  /** What the time that has passed is worth of sound, in both directions. */
  function tick() {
    const due = Math.floor(((performance.now() - pickedUpAt) * sampleRate) / 1000) - samples
    samples += due
    const said = new Int16Array(due)
    said.set(toSay.subarray(0, due))
    toSay = toSay.subarray(due)
    const heard = ear.hear(due)
    tape.add(said, heard)
    onAudio(said)
    onPlayed(ear.played())
    if (toSay.length === 0) onSaid()
  }

  return {
    recording: tape,
    get seconds() {
      return (performance.now() - pickedUpAt) / 1000
    },
    say(pcm) {
      toSay = pcm
      return new Promise((resolve) => {
        onSaid = resolve
      })
    },
    player: {
      ...ear,
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
        pickedUpAt = performance.now()
        ticking = setInterval(tick, tickMs)
      },
      async close() {
        clearInterval(ticking)
      },
    },
  }
}

/** What is still to be heard, in order, and how far it has been. */
function earpiece() {
  let chunks: PlayerChunk[] = []
  let isPaused = false
  let [clip, position] = [0, 0]
  const played = (): Played => ({ clip, position, idle: chunks.length === 0 })

  return {
    played,
    play: (chunk: PlayerChunk) => void chunks.push(chunk),
    /** So many samples: silence where there is nothing to be heard. */
    hear(count: number): Int16Array {
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
