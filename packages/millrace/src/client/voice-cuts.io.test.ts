import { voice } from '@millrace/voice'
import { scriptedSpeech } from '@millrace/voice/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { agent } from '../agent/index.ts'
import { serve } from '../server/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { cuttingProxy } from './cutting-proxy.test-kit.ts'
import { fastRetry, until } from './follow.test-kit.ts'
import { client } from './index.ts'
import { manualPlayer } from './voice-server.test-kit.ts'

const sampleRate = 8000
const sentences = Array.from({ length: 8 }, (_, index) => `Sentence number ${index} of ${index + 7}.`)
const speech = scriptedSpeech({ msPerChar: 10, sampleRate, chunkMs: 40 })

/** Each word is played at its own constant level, with silence in between. */
function wordsIn(output: readonly number[]): number[] {
  const words: number[] = []
  let last = 0
  let length = 0
  for (const level of output.map((one) => Math.round(one * 32_768))) {
    length = level === last ? length + 1 : 1
    last = level
    // Fades are shorter than this.
    if (level !== 0 && length === 41) words.push(level)
  }
  return words
}

test('each sentence is played completely and in order, wherever the connection is cut', async () => {
  await using app = await served()
  const plan = fc.record({ cuts: fc.array(fc.oneof(fc.nat(40_000), fc.nat(1500)), { maxLength: 4 }) })
  await fc.assert(
    fc.asyncProperty(plan, async ({ cuts }) => {
      await using proxy = await cuttingProxy({ port: app.port, bytes: (nth) => cuts[nth] })
      const thread = await client(app.url, fastRetry).create()
      const { player, play, output } = manualPlayer()
      const spoken: string[] = []
      let outcome = ''
      const line = client(proxy.url, fastRetry)
        .thread(thread.id)
        .voice({
          player,
          sampleRate,
          onSentence: ({ text }) => spoken.push(text),
          onState: (state) => {
            if (state === 'open' && outcome === '') {
              outcome = 'asked'
              void thread.send('Go on')
            }
          },
          onRecord: (record) => (outcome = record.outcome),
        })
      await until(() => outcome !== '')
      await until(() => {
        play(400)
        return outcome === 'completed'
      })
      await line.close()
      const words = wordsIn(output)
      let from = 0
      for (const sentence of sentences) {
        const wanted = sentence.split(' ').map((word) => speech.levelOf(word))
        while (from < words.length && wanted.some((level, at) => words[from + at] !== level)) from++
        expect(from, `${sentence} of ${spoken.join(' ')}`).toBeLessThan(words.length)
        from += wanted.length
      }
      expect([...new Set(spoken)]).toEqual(sentences)
    }),
    { numRuns: sized(25) },
  )
})

async function served() {
  const speaking = voice({ speech })
  const app = serve({
    agents: agent({ model: scriptedModel(() => sentences.join(' '), { deltaChars: [3, 8], paceMs: 1 }) }),
    voice: speaking,
    limits: { requestsPerSecond: 100_000 },
  })
  const { url, port } = await app.listen()
  return {
    url,
    port,
    async [Symbol.asyncDispose]() {
      await app.close({ graceMs: 0 })
      await speaking.close()
    },
  }
}
