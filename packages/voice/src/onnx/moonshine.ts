import { checkOptions, wholeNumber } from 'millrace/internal'
import { piecesOf } from '../listening/quiet-place.ts'
import type { Transcriber } from '../listening/transcriber.ts'
import { heardRate } from '../listening/voice-activity.ts'
import { onnxFiles } from './packages.ts'
import { onnxThread } from './thread.ts'

export interface MoonshineOptions {
  /** So many utterances are written down at a time, each on a core; 1 if absent. */
  readonly threads?: number | undefined
}

/** It has learnt from less than half a minute at a time, and hears nothing in less than a tenth of a second. */
const longest = 28 * heardRate
const shortest = heardRate / 10

/**
 * Moonshine tiny, for English, by `onnxruntime-node`, the weights in `@moonshine-ai/moonshine-js` and `llama-tokenizer-js`: about a tenth of the
 * time that the words took, in threads of its own. Throws `invalid_input` if they are not installed; loaded when it is first used.
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
  const idlest = () => threads.reduce((best, one) => (one.waiting < best.waiting ? one : best))

  return {
    async transcribe(pcm, { signal }) {
      const said: string[] = []
      for (const piece of piecesOf(pcm, longest)) {
        if (piece.length < shortest) continue
        said.push((await idlest().ask(piece, { signal })) as string)
      }
      return said.filter(Boolean).join(' ')
    },
    async ready() {
      await Promise.all(threads.map((thread) => thread.ready()))
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close()))
    },
  }
}
