import { providerSimulator } from '@millrace/simulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { wires } from '../models/every-model.test-kit.ts'
import type { JsonObject, Usage } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { Compact } from './compact.ts'
import { summarize } from './summarize.ts'

// How much of the input the simulated providers read from their prompt caches, in a long
// conversation that is compacted several times.

const pages = 40
const page = tool({
  name: 'page',
  description: 'Reads a page of the book',
  input: z.object({ number: z.number() }),
  run: ({ number }) => `Page ${number}. ${'It was a dark and stormy night. '.repeat(60)}`,
})

/** Sends the oldest part as a text of its own, with another system prompt. */
const withoutCache: Compact = (input) =>
  summarize()({
    ...input,
    ask: (question) =>
      question.conversation ? Promise.reject(new Error('not in the conversation')) : input.ask(question),
  })

describe.each(Object.entries(wires))('over %s', (_, open) => {
  async function read(compact: Compact) {
    let number = 0
    const sim = await providerSimulator(({ body }): ScriptRound => {
      const { messages, input = messages } = body as JsonObject
      const isSummary = /Do not continue the conversation|Summarize this/.test(
        JSON.stringify(input).slice(-4000),
      )
      if (isSummary) return 'Some pages were read. '.repeat(20)
      if (++number > pages) return 'It was a dark book.'
      return [{ text: 'Turning.' }, { call: 'page', input: { number } }]
    })
    onTestFinished(() => sim.close())
    const run = agent({
      model: open(sim),
      system: `You read books. ${'Be careful with them. '.repeat(250)}`,
      tools: [page],
      maxContextTokens: 11_000,
      maxRounds: 2 * pages,
      compact,
    }).stream('Read me the book.')
    const events = await collect(run)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'It was a dark book.' })
    const summaries: number[] = []
    const continued: number[] = []
    /** The first round and those after a summary find at most the system prompt and the tools. */
    const fresh: number[] = []
    let isFresh = true
    for (const event of events) {
      if (event.type === 'summary') summaries.push(shareOf(event.usage))
      if (event.type === 'round-end') (isFresh ? fresh : continued).push(shareOf(event.usage))
      if (event.type === 'summary' || event.type === 'round-end') isFresh = event.type === 'summary'
    }
    expect(summaries.length).toBeGreaterThan(2)
    return { summaries, continued, fresh, total: shareOf((await run.result).usage) }
  }

  test('summaries and the rounds between them are read from the cache', async () => {
    const [cached, old] = [await read(summarize()), await read(withoutCache)]
    expect(Math.min(...cached.summaries)).toBeGreaterThan(0.9)
    expect(Math.max(...old.summaries)).toBe(0)
    for (const { continued } of [cached, old]) {
      expect(continued.length).toBeGreaterThan(pages / 2)
      expect(Math.min(...continued)).toBeGreaterThan(0.6)
      expect(average(continued)).toBeGreaterThan(0.8)
    }
    // After a summary, the system prompt and the tools are still cached.
    expect(cached.fresh[0]).toBe(0)
    expect(Math.min(...cached.fresh.slice(1))).toBeGreaterThan(0.2)
    expect(Math.max(...cached.fresh)).toBeLessThan(0.6)
    expect(cached.total).toBeGreaterThan(old.total + 0.05)
  })
})

const shareOf = ({ inputTokens = 1, cacheReadTokens = 0 }: Partial<Usage> = {}) =>
  cacheReadTokens / inputTokens
const average = (numbers: readonly number[]) =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length
