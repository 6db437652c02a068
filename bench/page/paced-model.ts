import { setTimeout as wait } from 'node:timers/promises'
import type { Model } from 'millrace'

/** Says these pieces over and over, so many a second, until it is stopped. */
export function pacedModel(pieces: readonly string[], perSecond: number): Model {
  return {
    id: 'paced',
    provider: 'bench',
    capabilities: {
      tools: false,
      images: false,
      files: false,
      reasoning: false,
      streaming: true,
      structuredOutput: false,
    },
    async *stream(_, { signal }) {
      const start = performance.now()
      for (let said = 0; !signal.aborted; said++) {
        // Against the clock and not after the last one, so that being late does not add up.
        const early = start + (said * 1000) / perSecond - performance.now()
        if (early > 0) await wait(early, undefined, { signal })
        yield { type: 'text', text: pieces[said % pieces.length] ?? '' }
      }
    },
  }
}
