import { playQueue } from './play-queue.ts'
import type { PlayerChunk } from './player.ts'
import { recorder } from './recorder.ts'

// Runs on the audio thread (Web Audio 1.32). A separate file, so that a page with a strict content
// security
// policy can load it like its other scripts.

declare const sampleRate: number
declare class AudioWorkletProcessor {
  readonly port: MessagePort
}
declare function registerProcessor(
  name: string,
  processor: new (options: { readonly processorOptions: { readonly sampleRate: number } }) => object,
): void

/** A command from the player. Commands with an `id` get a reply. */
export type PlayerCommand =
  | { readonly type: 'play'; readonly chunk: PlayerChunk }
  | { readonly type: 'drop'; readonly id: number; readonly clip: number; readonly position: number }
  | { readonly type: 'pause'; readonly id: number }
  | { readonly type: 'resume' | 'close' }

/** How often the position is reported. */
const reportMs = 50

registerProcessor(
  'millrace-player',
  class extends AudioWorkletProcessor {
    readonly process: (inputs: unknown, outputs: Float32Array[][]) => boolean

    constructor({ processorOptions }: { readonly processorOptions: { readonly sampleRate: number } }) {
      super()
      const { port } = this
      const queue = playQueue({ ...processorOptions, outputRate: sampleRate })
      const reportSamples = (sampleRate * reportMs) / 1000
      let isClosed = false
      let unreportedSamples = 0
      let wasIdle = true

      port.onmessage = ({ data }: { readonly data: PlayerCommand }) => {
        if (data.type === 'play') queue.push(data.chunk)
        if (data.type === 'resume') queue.resume()
        if (data.type === 'close') isClosed = true
        if (data.type === 'pause') port.postMessage({ id: data.id, played: queue.pause() })
        if (data.type === 'drop')
          port.postMessage({ id: data.id, played: queue.drop(data.clip, data.position) })
      }

      this.process = (_, outputs) => {
        const out = outputs[0]?.[0]
        if (!out || isClosed) return !isClosed
        const before = queue.played()
        queue.fill(out)
        const played = queue.played()
        unreportedSamples += out.length
        const hasMoved = played.position !== before.position || played.clip !== before.clip
        if ((hasMoved && unreportedSamples >= reportSamples) || (played.idle && !wasIdle)) {
          unreportedSamples = 0
          port.postMessage({ played })
        }
        wasIdle = played.idle
        return true
      }
    }
  },
)

registerProcessor(
  'millrace-microphone',
  class extends AudioWorkletProcessor {
    readonly process: (inputs: Float32Array[][]) => boolean

    constructor({ processorOptions }: { readonly processorOptions: { readonly sampleRate: number } }) {
      super()
      const { port } = this
      const record = recorder({
        ...processorOptions,
        inputRate: sampleRate,
        onAudio: (pcm) => port.postMessage(pcm, [pcm.buffer]),
      })
      let isClosed = false
      port.onmessage = () => {
        isClosed = true
      }
      this.process = ([input]) => {
        if (input?.[0]) record(input[0])
        return !isClosed
      }
    }
  },
)
