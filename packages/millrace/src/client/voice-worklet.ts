import { playQueue } from './play-queue.ts'
import type { PlayerChunk } from './player.ts'
import { recorder } from './recorder.ts'

// Runs on the thread that makes the sound (Web Audio 1.32), as a file of its own: a page with a strict policy loads it from where
// its other scripts are.

declare const sampleRate: number
declare class AudioWorkletProcessor {
  readonly port: MessagePort
}
declare function registerProcessor(
  name: string,
  processor: new (options: { readonly processorOptions: { readonly sampleRate: number } }) => object,
): void

/** What a player asks for. Those with an `id` are answered. */
export type PlayerOrder =
  | { readonly do: 'play'; readonly chunk: PlayerChunk }
  | { readonly do: 'drop'; readonly id: number; readonly clip: number; readonly position: number }
  | { readonly do: 'pause'; readonly id: number }
  | { readonly do: 'resume' | 'close' }

/** It says how far it is so often. */
const toldMs = 50

registerProcessor(
  'millrace-player',
  class extends AudioWorkletProcessor {
    readonly process: (inputs: unknown, outputs: Float32Array[][]) => boolean

    constructor({ processorOptions }: { readonly processorOptions: { readonly sampleRate: number } }) {
      super()
      const { port } = this
      const queue = playQueue({ ...processorOptions, outputRate: sampleRate })
      const toldSamples = (sampleRate * toldMs) / 1000
      let isClosed = false
      let untold = 0
      let wasIdle = true

      port.onmessage = ({ data }: { readonly data: PlayerOrder }) => {
        if (data.do === 'play') queue.push(data.chunk)
        if (data.do === 'resume') queue.resume()
        if (data.do === 'close') isClosed = true
        if (data.do === 'pause') port.postMessage({ id: data.id, played: queue.pause() })
        if (data.do === 'drop')
          port.postMessage({ id: data.id, played: queue.drop(data.clip, data.position) })
      }

      this.process = (_, outputs) => {
        const out = outputs[0]?.[0]
        if (!out || isClosed) return !isClosed
        const before = queue.played()
        queue.fill(out)
        const played = queue.played()
        untold += out.length
        const hasMoved = played.position !== before.position || played.clip !== before.clip
        if ((hasMoved && untold >= toldSamples) || (played.idle && !wasIdle)) {
          untold = 0
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
