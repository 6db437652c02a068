import type { ProviderSimulatorOptions, SimulatedRequest } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { wires } from '../models/every-model.test-kit.ts'
import type { JsonObject } from '../protocol/index.ts'
import { foldLog, transcriptOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, of, pairs } from './agent.test-kit.ts'
import { agent } from './agent.ts'

// Real sockets, and each provider's own overflow errors.

const pages = 9
const page = tool({
  name: 'page',
  description: 'Reads a page of the book',
  input: z.object({ number: z.number() }),
  run: ({ number }) => `Page ${number}. ${'It was a dark and stormy night. '.repeat(30)}`,
})

/**
 * Reads one page after the other, based on the last one in the prompt. Its context fits three
 * pages.
 */
function reader({ body }: SimulatedRequest): ScriptRound {
  const { tools } = body as JsonObject
  const prompt = JSON.stringify(body)
  if (prompt.length > 4800) return [{ error: { code: 'context_overflow' } }]
  const usage = { usage: { inputTokens: 100, outputTokens: 10 } }
  const numbers = [...prompt.matchAll(/Page (\d)\./g)].map(([, digit]) => Number(digit))
  const last = Math.max(0, ...numbers)
  if (!tools) return [{ text: `Page ${last}. was the last to be read.` }, usage]
  if (last === pages) return [{ text: 'It was a dark book.' }, usage]
  return [{ text: 'Turning.' }, { call: 'page', input: { number: last + 1 } }, usage]
}

describe.each(Object.entries(wires))('over %s', (_, open) => {
  async function read(options: ProviderSimulatorOptions = {}) {
    const sim = await providerSimulator(reader, options)
    onTestFinished(() => sim.close())
    const run = agent({ model: open(sim), system: 'You read books.', tools: [page] }).stream(
      'Read me the book.',
    )
    return { sim, run, events: await collect(run), result: await run.result }
  }

  test('a conversation that outgrows the context is summarized and continues', async () => {
    const { sim, events, result } = await read()
    expect(result).toMatchObject({ outcome: 'completed', text: 'It was a dark book.', rounds: pages + 1 })
    const retries = of(events, 'round-retry')
    expect(retries.length).toBeGreaterThan(1)
    for (const { error } of retries) expect(error.code).toBe('context_overflow')
    expect(of(events, 'summary')).toHaveLength(retries.length)
    // Each round and each summary was answered, and each error was the provider's overflow.
    const answered = sim.requests.filter(({ status }) => status === 200)
    expect(answered).toHaveLength(pages + 1 + retries.length)
    expect(sim.requests.length - answered.length).toBe(retries.length)
    expect(result.usage).toMatchObject({ inputTokens: 100 * answered.length })

    const whole = transcriptOf(foldLog(events))
    expect(pairs({ messages: whole }).map(([, text]) => text.slice(0, 7))).toEqual(
      Array.from({ length: pages }, (_, at) => `Page ${at + 1}.`),
    )
    const request = JSON.stringify(sim.requests.at(-1)?.body)
    expect(request).toContain('You read books.')
    expect(request).toContain('Read me the book.')
  })

  test('a request that is too large for the server counts as an overflow', async () => {
    const { events, result } = await read({ faults: [{ kind: 'status', status: 413, request: 2 }] })
    expect(result.outcome).toBe('completed')
    expect(of(events, 'round-retry')[0]).toMatchObject({
      round: 3,
      error: { code: 'context_overflow', status: 413 },
    })
  })
})
