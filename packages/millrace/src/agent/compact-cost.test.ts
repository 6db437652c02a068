import { describe, expect, test } from 'vitest'
import type { Message, Model, Price } from '../protocol/index.ts'
import { foldLog, noUsage, PROTOCOL_VERSION, systemClock } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { fakeClock, scriptedModel } from '../testing/index.ts'
import { rawModel, streamOf } from './agent.test-kit.ts'
import type { Question } from './ask.ts'
import type { Compact } from './compact.ts'
import { compactConversation } from './compact.ts'
import { pricesWith } from './prices.ts'

const history: readonly Message[] = [
  { role: 'user', content: 'I am Ada.' },
  { role: 'assistant', content: [{ type: 'text', text: 'Hello, Ada.' }] },
  { role: 'user', content: 'Who am I?' },
]

const asking =
  (...questions: readonly Question[]): Compact =>
  async ({ ask }) => {
    let summary = ''
    for (const question of questions) summary = await ask(question)
    return { keep: 1, summary }
  }

/** A dollar per input token, four per output token. */
const price: Price = { input: 1e6, output: 4e6 }
const prices = { scripted: price }
const used = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } })

function compacted(
  model: Model,
  compact: Compact,
  options: { prices?: Readonly<Record<string, Price>>; clock?: ReturnType<typeof fakeClock> } = {},
) {
  const start = {
    type: 'run-start',
    version: PROTOCOL_VERSION,
    runId: 'r',
    agent: 'a',
    input: history,
  } as const
  return compactConversation({
    state: foldLog([start]),
    compact,
    reason: 'overflow',
    limit: undefined,
    model,
    settings: {},
    prices: pricesWith(options.prices ?? prices),
    clock: options.clock ?? systemClock,
    retry: { attempts: 3, baseMs: 1, maxDelayMs: 10 },
    firstEventMs: 1000,
    idleMs: 1000,
    signal: new AbortController().signal,
    observeAside: () => undefined,
  })
}

const prompt = 'x'.repeat(400)

describe('a summary', () => {
  test('has its usage, its cost and its model', async () => {
    const { summary } = await compacted(scriptedModel([[{ text: 'Ada.' }, used(30, 4)]]), asking({ prompt }))
    expect(summary).toMatchObject({
      usage: { inputTokens: 30, outputTokens: 4 },
      cost: { usd: 46, prices: 'custom' },
      model: 'scripted',
    })
    expect(summary).not.toHaveProperty('estimate')
  })

  test('has an estimate if the provider reports no usage', async () => {
    const { summary } = await compacted(scriptedModel(['The user is Ada.']), asking({ prompt }))
    expect(summary).toMatchObject({
      estimate: { inputTokens: 100, outputTokens: 4 },
      cost: { usd: 116 },
    })
    expect(summary).not.toHaveProperty('usage')
  })

  test('has no cost, but its usage, if the price is not known', async () => {
    const model = scriptedModel([[{ text: 'Ada.' }, used(30, 4)]])
    const { summary } = await compacted(model, asking({ prompt }), { prices: {} })
    expect(summary).toMatchObject({ usage: { inputTokens: 30 }, model: 'scripted' })
    expect(summary).not.toHaveProperty('cost')
  })

  test('adds up several requests, also to several models, and names the last', async () => {
    const clerk = scriptedModel([[{ text: 'Two.' }, used(5, 1)]], { id: 'clerk' })
    const model = scriptedModel([[{ text: 'One.' }, used(30, 4)]])
    const compact = asking({ prompt }, { prompt, model: clerk })
    const both = { ...prices, clerk: { input: 2e6, output: 1e6 } }
    const { summary } = await compacted(model, compact, { prices: both })
    expect(summary).toMatchObject({
      usage: { ...noUsage, inputTokens: 35, outputTokens: 5 },
      cost: { usd: 46 + 11, prices: 'custom' },
      model: 'clerk',
    })
  })

  test.each([
    ['first', ['clerk', 'scripted']],
    ['last', ['scripted', 'clerk']],
  ])('has no cost if the price of the %s request is not known', async (_, order) => {
    const models = order.map((id) => scriptedModel([[{ text: 'One.' }, used(30, 4)]], { id }))
    const compact = asking(...models.map((model) => ({ prompt, model })))
    const { summary } = await compacted(models[0] as Model, compact)
    expect(summary).toMatchObject({ usage: { inputTokens: 60 } })
    expect(summary).not.toHaveProperty('cost')
  })

  test('includes an estimate of requests that failed after an event, not of those before', async () => {
    const error = { error: { code: 'overloaded', message: 'busy' } } as const
    const rounds: ScriptRound[] = [
      [error],
      [{ reasoning: 'Let me see' }, { text: 'A' }, { call: 'look', raw: '{"at' }, error],
      [{ text: 'Ada.' }, used(90, 4)],
    ]
    const clock = fakeClock()
    const pending = compacted(scriptedModel(rounds, { clock }), asking({ prompt }), { clock })
    const { summary } = await clock.until(pending)
    expect(summary).toMatchObject({
      usage: { inputTokens: 90, outputTokens: 4 },
      // 10, 1 and 4 characters.
      estimate: { inputTokens: 100, outputTokens: 4 },
      cost: { usd: 90 + 16 + 100 + 16 },
    })
  })

  test('includes an estimate of an answer that was started over', async () => {
    const model = rawModel(() =>
      streamOf(
        { type: 'text', text: 'Lost text' },
        { type: 'restart', reason: 'the gateway reconnected' },
        { type: 'text', text: 'Ada.' },
        { type: 'done', finish: 'stop', usage: { inputTokens: 90, outputTokens: 4 } },
      ),
    )
    const { summary } = await compacted(model, asking({ prompt }), { prices: { raw: price } })
    expect(summary).toMatchObject({
      message: { content: expect.stringContaining('Ada.') },
      usage: { inputTokens: 90 },
      estimate: { inputTokens: 100, outputTokens: 3 },
    })
    expect(JSON.stringify(summary)).not.toContain('Lost')
  })

  test('that asked no model has neither usage nor model', async () => {
    const { summary, paid } = await compacted(scriptedModel([]), () => ({ keep: 1, summary: 'Ada.' }))
    expect(summary).toEqual({ type: 'summary', replaces: 2, message: expect.anything() })
    expect(paid).toBeUndefined()
  })
})

describe('a compaction without a result', () => {
  const answer: ScriptRound = [{ text: 'Ada.' }, used(30, 4)]
  const paid = { usage: { inputTokens: 30 }, cost: { usd: 46 }, model: 'scripted' }

  test('returns what was paid along with its failure', async () => {
    const broken: Compact = async ({ ask }) => {
      await ask({ prompt })
      throw new Error('out of ink')
    }
    const result = await compacted(scriptedModel([answer]), broken)
    expect(result).toMatchObject({ failure: new Error('out of ink'), paid })
  })

  test('returns what was paid for an answer that is of no use', async () => {
    const refused: ScriptRound = [{ text: 'No.' }, { finish: 'refusal' }, used(30, 4)]
    expect(await compacted(scriptedModel([refused]), asking({ prompt }))).toMatchObject({ paid })
  })

  test.each<[string, Awaited<ReturnType<Compact>>]>([
    ['returned nothing', undefined],
    ['kept everything', { keep: 3, summary: 'Ada.' }],
  ])('returns what was paid if compact() %s', async (_, compaction) => {
    const result = await compacted(scriptedModel([answer]), async ({ ask }) => {
      await ask({ prompt })
      return compaction
    })
    expect(result).toEqual({ paid: expect.objectContaining({ model: 'scripted' }) })
    expect(result).toMatchObject({ paid })
  })

  test('returns nothing if the provider sent nothing', async () => {
    const rejected: ScriptRound = [{ error: { code: 'auth', message: 'bad key' } }]
    const result = await compacted(scriptedModel([rejected]), asking({ prompt }))
    expect(result).toEqual({ failure: expect.objectContaining({ code: 'auth' }) })
  })
})
