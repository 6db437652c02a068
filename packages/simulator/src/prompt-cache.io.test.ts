import type { JsonObject, JsonValue } from 'millrace'
import { describe, expect, onTestFinished, test } from 'vitest'
import { promptCache } from './prompt-cache.ts'
import type { ProviderSimulatorOptions } from './provider-simulator.ts'
import { providerSimulator } from './provider-simulator.ts'
import { post } from './raw-client.test-kit.ts'
import type { Wire } from './wire.ts'

const long = 'It was a dark and stormy night. '.repeat(200)
const mark = { cache_control: { type: 'ephemeral' } }

/** A conversation of `turns` long messages, in the format of each API. */
const bodies: Record<Wire, (turns: number, more?: JsonObject) => JsonObject> = {
  'openai-chat': (turns, more) => ({
    model: 'm',
    messages: [{ role: 'system', content: 'Be kind.' }, ...messages(turns)],
    ...more,
  }),
  'openai-responses': (turns, more) => ({
    model: 'm',
    instructions: 'Be kind.',
    input: messages(turns),
    ...more,
  }),
  anthropic: (turns, more) => {
    const said = messages(turns).map(({ role, content }) => ({
      role,
      content: [{ type: 'text', text: content }],
    }))
    const last = said.at(-1)
    const marked = { role: 'user', content: [{ ...(last?.content[0] as object), ...mark }] }
    return {
      model: 'm',
      max_tokens: 99,
      system: 'Be kind.',
      messages: [...said.slice(0, -1), marked] as JsonValue,
      ...more,
    }
  },
}

function messages(turns: number) {
  return Array.from({ length: turns }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `${at}: ${long}`,
  }))
}

async function simulate(options: ProviderSimulatorOptions = {}) {
  const sim = await providerSimulator(() => 'Well.', options)
  onTestFinished(() => sim.close())
  return async (wire: Wire, body: JsonObject) => {
    const answer = (await (await post(sim, wire, body)).json()) as { usage: JsonObject }
    return counts(wire, answer.usage)
  }
}

/** Input, read from the cache and written to it, as each API reports them. */
function counts(wire: Wire, usage: JsonObject): { input: number; read: number; written: number } {
  if (wire === 'anthropic') {
    const { input_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
    return {
      input: Number(input_tokens) + Number(read) + Number(written),
      read: Number(read),
      written: Number(written),
    }
  }
  const details = (usage.prompt_tokens_details ?? usage.input_tokens_details) as Record<string, number>
  return {
    input: Number(usage.prompt_tokens ?? usage.input_tokens),
    read: details.cached_tokens ?? 0,
    written: details.cache_write_tokens ?? 0,
  }
}

describe.each(Object.keys(bodies) as Wire[])('over %s', (wire) => {
  const body = bodies[wire]

  test('a request reads what earlier requests started with', async () => {
    const ask = await simulate()
    const first = await ask(wire, body(1))
    expect(first.read).toBe(0)
    const second = await ask(wire, body(3))
    // All but the overhead of JSON.
    expect(second.read).toBeGreaterThan(first.input * 0.97)
    expect(second.read).toBeLessThanOrEqual(first.input * 1.03)
    const third = await ask(wire, body(5))
    expect(third.read).toBeGreaterThan(second.input * 0.97)
    expect(third.read + third.written).toBeLessThanOrEqual(third.input)
    // A shorter conversation is a beginning of the longer ones.
    const again = await ask(wire, body(3))
    expect(again.read).toBeGreaterThan(second.input * 0.97)
  })

  test.each<[string, JsonObject]>([
    ['another model', { model: 'other' }],
    ['another system prompt', wire === 'openai-chat' ? {} : { system: 'Be rude.', instructions: 'Be rude.' }],
    [
      'other messages',
      { [wire === 'openai-responses' ? 'input' : 'messages']: [{ role: 'user', content: `New ${long}` }] },
    ],
  ])('%s is not read from the cache', async (what, change) => {
    const ask = await simulate({ checks: false })
    await ask(wire, body(3))
    const system = { messages: [{ role: 'system', content: 'Be rude.' }, ...messages(3)] }
    const isChatSystem = wire === 'openai-chat' && what === 'another system prompt'
    expect((await ask(wire, body(3, isChatSystem ? system : change))).read).toBe(0)
  })

  test('a short prompt is not cached, unless the minimum is lower', async () => {
    const short = body(1)
    const text = JSON.stringify(short).replaceAll(long, 'Hello.')
    const ask = await simulate()
    await ask(wire, JSON.parse(text))
    expect(await ask(wire, JSON.parse(text))).toMatchObject({ read: 0, written: 0 })
    const eager = await simulate({ promptCache: { minTokens: 0 } })
    await eager(wire, JSON.parse(text))
    expect((await eager(wire, JSON.parse(text))).read).toBeGreaterThan(0)
  })

  test('nothing is cached if it is turned off', async () => {
    const ask = await simulate({ promptCache: false })
    await ask(wire, body(3))
    expect(await ask(wire, body(3))).toMatchObject({ read: 0, written: 0 })
  })

  test('a request that failed is not remembered', async () => {
    const sim = await providerSimulator((_, index) =>
      index === 0 ? [{ error: { code: 'overloaded' } }] : 'Well.',
    )
    onTestFinished(() => sim.close())
    const failed = await post(sim, wire, body(3))
    expect(failed.ok).toBe(false)
    const { usage } = (await (await post(sim, wire, body(3))).json()) as { usage: JsonObject }
    expect(counts(wire, usage).read).toBe(0)
  })

  test("a script's own usage is reported unchanged", async () => {
    const usage = { inputTokens: 100, outputTokens: 2, cacheReadTokens: 30 }
    const sim = await providerSimulator(() => [{ text: 'Well.' }, { usage }])
    onTestFinished(() => sim.close())
    await post(sim, wire, body(3))
    const { usage: reported } = (await (await post(sim, wire, body(3))).json()) as { usage: JsonObject }
    expect(counts(wire, reported)).toEqual({ input: 100, read: 30, written: 0 })
  })
})

describe('Anthropic', () => {
  const body = bodies.anthropic

  test('writes what it has not read, and OpenAI reports no writes', async () => {
    const ask = await simulate()
    const first = await ask('anthropic', body(1))
    expect(first.written).toBe(first.input)
    const second = await ask('anthropic', body(3))
    expect(second.read + second.written).toBe(second.input)
    expect((await ask('openai-chat', bodies['openai-chat'](3))).written).toBe(0)
  })

  test('caches nothing without cache_control', async () => {
    const ask = await simulate()
    const unmarked = () =>
      JSON.parse(JSON.stringify(body(3)).replace(`,${JSON.stringify(mark).slice(1, -1)}`, ''))
    expect(JSON.stringify(unmarked())).not.toContain('cache_control')
    await ask('anthropic', unmarked())
    expect(await ask('anthropic', unmarked())).toMatchObject({ read: 0, written: 0 })
  })

  test('finds a message to which a block was added, whose mark has moved', async () => {
    const ask = await simulate()
    const first = await ask('anthropic', body(1))
    const block = { type: 'text', text: `0: ${long}` }
    const both = { role: 'user', content: [block, { type: 'text', text: 'Summarize.', ...mark }] }
    const second = await ask('anthropic', body(1, { messages: [both] }))
    expect(second.read).toBeGreaterThan(first.input * 0.97)
  })

  test('finds only the system prompt and tools if the tool choice changes', async () => {
    const ask = await simulate()
    const tools = [{ name: 'look', description: long, input_schema: { type: 'object' } }]
    const first = await ask('anthropic', body(3, { tools }))
    const second = await ask('anthropic', body(3, { tools, tool_choice: { type: 'none' } }))
    expect(second.read).toBeGreaterThan(1024)
    expect(second.read).toBeLessThan(first.input / 2)
  })
})

test('forgets the prompts that were not used for longest', () => {
  const cache = promptCache({ minTokens: 0 })
  const prompt = (text: string) =>
    cache.lookUp('openai-chat', { model: 'm', messages: [{ role: 'user', content: text }] }, 100)
  const isKnown = (text: string) => prompt(text).cacheReadTokens > 0
  for (const text of ['old', 'used']) prompt(text).keep()
  for (let number = 0; number < 25_000; number++) {
    prompt(`${number}`).keep()
    if (number % 1000 === 0) prompt('used').keep()
  }
  expect(['old', 'used', '24999'].map(isKnown)).toEqual([false, true, true])
})

test.each([
  [{ promptCache: true as never }, "'promptCache' must be an object, not a boolean"],
  [{ promptCache: { minTokens: -1 } }, "'promptCache.minTokens' must be a whole number of at least 0"],
  [{ promptCache: { min: 1 } as never }, "'promptCache.min' does not exist"],
])('providerSimulator() throws on %o', async (options, problem) => {
  await expect(providerSimulator([], options)).rejects.toThrow(problem)
})
