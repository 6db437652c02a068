import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { voice } from '@millrace/voice'
import { scriptedSpeech } from '@millrace/voice/testing'
import type { JsonObject } from 'millrace'
import { agent, tool } from 'millrace'
import { millrace } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { answer, configOf, usage } from '../load/process.ts'
import { lookUpOrder } from '../server/tool-schemas.ts'
import { notedModel } from './model.ts'
import type { Scene } from './scenes.ts'

// The server that is measured, as a user would set it up, with a voice that costs next to nothing.

export interface ServerConfig {
  readonly file: string
  readonly scene: Scene['name']
  readonly wordMs: number
  readonly charMs: number
}

const { file, scene, wordMs, charMs } = configOf<ServerConfig>()

const toolMs = 300
/** The voice gives a few letters at a time; a slow one takes a fifth longer for them than they last. */
const chunkChars = 4
const slowness = 1.2
const resolutionMs = 10

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
const paceMs = scene === 'slow' ? slowness * chunkMs : 0
// At the rate that flite has, which is not the clients': what is said has to be converted, as it mostly has.
const speech = scriptedSpeech({
  msPerChar: charMs,
  sampleRate: 16_000,
  chunkMs,
  delayMs: paceMs,
  paceMs,
  hang: () => scene === 'hanging' && 'deaf',
})

const store = sqliteStore(file)
const spoken = voice({ speech })
const app = millrace({ agents: { desk }, store, exchanges: false, voice: spoken })
const delays = monitorEventLoopDelay({ resolution: resolutionMs })

const asked = {
  open: async () => (await app.listen()).url,
  begin() {
    delays.reset()
    delays.enable()
  },
  /** How late timers were, in milliseconds. */
  delays() {
    delays.disable()
    const late = (nanos: number) => Math.max(0, nanos / 1e6 - resolutionMs)
    return { p50: late(delays.percentile(50)), p99: late(delays.percentile(99)), max: late(delays.max) }
  },
  said: () => Object.fromEntries(model.said),
  /** Bytes that are in use after a collection. */
  held() {
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  },
  async close() {
    await app.close()
    await spoken.close()
    await store.close()
  },
  usage: usage(),
}
export type ServerAnswers = typeof asked
answer(asked)
