import { checkOptions, wholeNumber } from 'millrace/internal'
import { splitAtQuiet } from '../listening/quietest-point.ts'
import type { Transcriber } from '../listening/transcriber.ts'
import { listeningSampleRate } from '../listening/voice-activity.ts'
import { onnxFiles } from './packages.ts'
import { onnxThread } from './thread.ts'

export interface MoonshineOptions {
  /** How many utterances are transcribed at a time, each on its own core. Default: 1. */
  readonly threads?: number | undefined
}

/** It was trained on audio of less than 30 s, and recognizes nothing in less than 0.1 s. */
const maxSamples = 28 * listeningSampleRate
const minSamples = listeningSampleRate / 10

/**
 * Moonshine tiny, for English. Uses `onnxruntime-node`, the weights in
 * `@moonshine-ai/moonshine-js`, and `llama-tokenizer-js`. Takes about a tenth of the duration of
 * the speech, in its own threads. Throws `invalid_input` if the packages are not installed. Loads
 * on first use.
 */
export function moonshine(options: MoonshineOptions = {}): Transcriber {
  checkOptions(options, { threads: wholeNumber(1) }, { op: 'moonshine', what: 'the option' })
  const { threads: count = 1 } = options
  const files = onnxFiles({
    op: 'moonshine',
    needs: ['onnxruntime-node', '@moonshine-ai/moonshine-js', 'llama-tokenizer-js'],
  })['@moonshine-ai/moonshine-js']
  const threads = Array.from({ length: count }, () =>
    onnxThread('moonshine', { network: 'moonshine', files }),
  )
  const leastBusy = () => threads.reduce((best, one) => (one.waiting < best.waiting ? one : best))

  return {
    async transcribe(pcm, { signal }) {
      const texts: string[] = []
      for (const piece of splitAtQuiet(pcm, maxSamples)) {
        if (piece.length < minSamples) continue
        texts.push((await leastBusy().run(piece, { signal })) as string)
      }
      return texts.filter(Boolean).join(' ')
    },
    async ready() {
      await Promise.all(threads.map((thread) => thread.ready()))
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close()))
    },
  }
}
