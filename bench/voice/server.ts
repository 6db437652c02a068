import { setTimeout as wait } from 'node:timers/promises'
import { voice } from '@millrace/voice'
import { scriptedSpeech } from '@millrace/voice/testing'
import { agent, type JsonObject, type Message, type Model, tool, toolCall } from 'millrace'
import { serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { answer, configOf, heldBytes, usage } from '../harness/answer.ts'
import { lateness } from '../harness/late.ts'
import { lookUpOrder } from '../server/scenario.ts'
import { type Mark, now } from './figures.ts'
import type { VoiceScenario } from './part.ts'
import { roundTexts, wordsOf } from './texts.ts'

// The measured server, as a user would set it up, with a voice that costs almost nothing.

export interface ServerConfig {
  readonly file: string
  readonly scenario: VoiceScenario['name']
  readonly wordMs: number
  readonly charMs: number
}

const { file, scenario, wordMs, charMs } = configOf<ServerConfig>()

const toolMs = 300
/** Characters in a chunk of audio. A slow voice takes a fifth longer for a chunk than it lasts. */
const chunkChars = 4
const slowness = 1.2

const model = notedModel(wordMs)
const desk = agent({
  model,
  system: 'You help with orders.',
  tools: [
    tool({
      name: lookUpOrder.name,
      description: lookUpOrder.description,
      input: { jsonSchema: lookUpOrder.jsonSchema as JsonObject },
      run: async (_, { signal }) => {
        await wait(toolMs, undefined, { signal })
        return { status: 'shipped' }
      },
    }),
  ],
})

const chunkMs = chunkChars * charMs
const paceMs = scenario === 'slow' ? slowness * chunkMs : 0
// flite's sample rate, which is not the clients': audio has to be resampled, as is usual.
const speech = scriptedSpeech({
  msPerChar: charMs,
  sampleRate: 16_000,
  chunkMs,
  delayMs: paceMs,
  paceMs,
  hang: () => scenario === 'hanging' && 'ignore-abort',
})

const store = sqliteStore(file)
const spoken = voice({ speech })
/** All clients come from one address, so limits per caller must not apply. */
const most = 2 ** 40
const app = serve({
  agents: { desk },
  store,
  exchanges: false,
  voice: spoken,
  limits: {
    streams: most,
    requestsPerSecond: most,
    requestsAtOnce: most,
    responseBytes: most,
    bufferBytes: most,
  },
  quotas: { runs: most, waiting: most, storedBytes: most, bytesPerMinute: most, tokensPerMinute: most },
})

const asked = {
  open: async () => (await app.listen()).url,
  late: lateness(10),
  said: () => Object.fromEntries(model.said),
  held: heldBytes,
  async close() {
    await app.close()
    await spoken.close()
    await store.close()
  },
  usage: usage(),
}
export type ServerAnswers = typeof asked
answer(asked)

export interface NotedModel extends Model {
  /** When it emitted what, by thread. */
  readonly said: ReadonlyMap<string, readonly Mark[]>
}

/**
 * Always the same answer, word by word, with times. The first word of a question is the name of its
 * thread.
 */
export function notedModel(wordMs: number): NotedModel {
  const said = new Map<string, Mark[]>()
  let calls = 0
  return {
    id: 'noted',
    provider: 'bench',
    capabilities: {
      tools: true,
      images: false,
      files: false,
      reasoning: false,
      streaming: true,
      structuredOutput: false,
    },
    said,
    async *stream({ messages }, { signal }) {
      const thread = threadOf(messages)
      const marks = said.get(thread) ?? []
      said.set(thread, marks)
      const isFirst = messages.at(-1)?.role === 'user'
      const start = now()
      for (const [index, text] of wordsOf(roundTexts[isFirst ? 0 : 1] ?? '').entries()) {
        // Relative to the start, so that delays do not add up.
        const early = start + (index + 1) * wordMs - now()
        if (early > 0) await wait(early, undefined, { signal })
        marks.push([(marks.at(-1)?.[0] ?? 0) + text.length, now()])
        yield { type: 'text', text }
      }
      if (isFirst)
        yield toolCall({ callId: `call_${++calls}`, name: lookUpOrder.name, raw: '{"id":"ORD-42"}' })
      yield { type: 'done', finish: isFirst ? 'tool-calls' : 'stop' }
    },
  }
}

function threadOf(messages: readonly Message[]): string {
  const question = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const text =
    typeof question === 'string'
      ? question
      : question.map((part) => ('text' in part ? part.text : '')).join('')
  return text.split(' ')[0] ?? ''
}
