import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { AgentOptions } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import type { InputUserMessage, ModelRequest, RunRequest } from '../protocol/index.ts'
import { textOf } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { eventsOf, heldTool, openStore, startApp, textIn, untilIdle } from './threads.test-kit.ts'

const says = (id: string) => scriptedModel(() => `I am ${id}.`, { id })
const breaks = (id: string) => scriptedModel(() => [{ error: { code: 'llm_error' } }], { id })

const look = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'seen' })
const listen = tool({ name: 'listen', description: 'Listens', input: z.object({}), run: () => 'heard' })

const modelsIn = (entries: Parameters<typeof eventsOf>[0]) =>
  eventsOf(entries, 'round-start').map(({ model }) => model)

const systemOf = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'system' ? [textOf(message)] : []))

function opened(options: AgentOptions) {
  const thread = startApp({ agents: agent({ name: 'helper', ...options }) }).thread('t')
  return {
    thread,
    async ask(request?: RunRequest, message: string | InputUserMessage = 'Hi') {
      const seq = await thread.send(message, { request })
      return untilIdle(thread, seq)
    },
  }
}

describe('request.model', () => {
  test('chooses the model that answers this message', async () => {
    const { ask } = opened({ model: says('small'), models: [says('large'), says('huge')] })
    expect(textIn(await ask({ model: 'huge' }))).toBe('I am huge.')
    expect(modelsIn(await ask({ model: 'large' }))).toEqual(['large'])
    expect(modelsIn(await ask({ model: 'small' }))).toEqual(['small'])
    expect(modelsIn(await ask())).toEqual(['small'])
  })

  test('comes before the fallbacks of the agent, which are tried once each', async () => {
    const [small, spare, large] = [says('small'), breaks('spare'), breaks('large')]
    const last = says('last')
    const { ask } = opened({
      model: [small, spare, last],
      models: [large, spare],
      retry: { attempts: 1 },
    })
    expect(textIn(await ask({ model: 'large' }))).toBe('I am last.')
    expect(textIn(await ask({ model: 'spare' }))).toBe('I am last.')
    expect([small, spare, large, last].map(({ requests }) => requests.length)).toEqual([0, 2, 1, 2])
  })

  test('changes the model of a run from the next round on', async () => {
    const held = heldTool('hold')
    const small = scriptedModel([[{ call: 'hold' }]], { id: 'small' })
    const { thread } = opened({ model: small, models: [says('large')], tools: [held.tool] })
    await thread.send('Hi')
    await held.startedTimes(1)
    await thread.send('Think harder.', { mode: 'steer', request: { model: 'large' } })
    held.runs[0]?.release()
    expect(modelsIn(await untilIdle(thread))).toEqual(['small', 'large'])
  })

  test('must be one of the models that the agent offers', async () => {
    const { ask, thread } = opened({ model: [says('small'), says('spare')], models: [says('large')] })
    await expect(ask({ model: 'larger' })).rejects.toMatchObject({
      code: 'invalid_input',
      message: "the agent has no model named 'larger'. Did you mean 'large'? It has: small, large.",
    })
    await expect(ask({ model: 'spare' })).rejects.toThrow("no model named 'spare'")
    await expect(thread.info()).rejects.toMatchObject({ code: 'not_found' })
  })

  test('decides which messages and tools can be sent', async () => {
    const plain = scriptedModel(() => 'Yes.', { id: 'plain', capabilities: { images: false, tools: false } })
    const seeing = scriptedModel(() => 'A cat.', {
      id: 'seeing',
      capabilities: { images: true, tools: true },
    })
    const { ask } = opened({ model: plain, models: [seeing] })
    const image = {
      role: 'user',
      content: [{ type: 'image', url: 'https://example.org/cat.png' }],
    } as const
    await expect(ask(undefined, image)).rejects.toThrow("'plain' does not accept images")
    expect(textIn(await ask({ model: 'seeing' }, image))).toBe('A cat.')
    const tools = [{ name: 'wave', description: 'Waves', inputSchema: { type: 'object' } }]
    await expect(ask({ tools })).rejects.toThrow("'plain' does not support tools")
    await ask({ model: 'seeing', tools })
    expect(seeing.requests.at(-1)?.tools).toMatchObject(tools)
  })

  test('has its own price, which budgets count', async () => {
    const usage = { usage: { inputTokens: 1000, outputTokens: 0 } }
    const priced = (id: string, input: number) =>
      scriptedModel(() => [{ text: 'Yes.' }, usage], { id, price: { input, output: input } })
    const { ask } = opened({
      model: priced('cheap', 1),
      models: [priced('dear', 1000)],
      budget: { usd: 0.1 },
    })
    const [end] = eventsOf(await ask(), 'round-end')
    expect(end?.cost?.usd).toBe(0.001)
    const [refused] = eventsOf(await ask({ model: 'dear' }, 'x'.repeat(1000)), 'run-end')
    expect(refused).toMatchObject({ outcome: 'budget', limit: { kind: 'usd' } })
  })

  test('writes the summaries of its run, after the same prompt', async () => {
    const isQuestion = ({ messages }: ModelRequest) =>
      textOf(messages.at(-1) as never).startsWith('Do not continue')
    const small = says('small')
    const large = scriptedModel(
      (request) =>
        isQuestion(request)
          ? 'We talked.'
          : [{ text: 'x'.repeat(2000) }, { usage: { inputTokens: request.messages.length * 1000 } }],
      { id: 'large' },
    )
    const { ask } = opened({
      model: small,
      models: [large],
      system: 'Be kind.',
      maxContextTokens: 9500,
    })
    const request = { model: 'large', replace: { system: 'Be brief.' } }
    for (const text of ['one', 'two', 'three', 'four', 'five', 'six']) await ask(request, text)
    const at = large.requests.findIndex(isQuestion)
    const [before, question] = large.requests.slice(at - 1) as [ModelRequest, ModelRequest]
    expect(question.messages.slice(0, before.messages.length)).toEqual(before.messages)
    expect(systemOf(question)).toEqual(['Be brief.'])
    expect(small.requests).toEqual([])
  })
})

describe('request.replace', () => {
  const calls = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'look' }, { call: 'listen' }],
  )

  test('replaces the system prompt and offers fewer tools, in every round', async () => {
    const { ask } = opened({ model: calls, system: 'Be kind.', tools: [look, listen] })
    const entries = await ask({ system: 'In verse.', replace: { system: 'Be brief.', tools: ['listen'] } })
    const replaced = calls.requests.slice(-2)
    expect(replaced.map(systemOf)).toEqual([['Be brief.\n\nIn verse.'], ['Be brief.\n\nIn verse.']])
    expect(replaced.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['listen'], ['listen']])
    const results = eventsOf(entries, 'tool-result').map(({ name, isError }) => [name, isError])
    expect(results).toEqual([
      ['look', true],
      ['listen', false],
    ])
    await ask({ replace: { system: '', tools: [] } })
    expect(systemOf(calls.requests.at(-1) as ModelRequest)).toEqual([])
    expect(calls.requests.at(-1)?.tools).toEqual([])
    await ask()
    expect(systemOf(calls.requests.at(-1) as ModelRequest)).toEqual(['Be kind.'])
    expect(calls.requests.at(-1)?.tools).toHaveLength(2)
  })

  test('can stand in for a tool with one of the sender', async () => {
    const { ask } = opened({ model: calls, tools: [look, listen] })
    const mine = { name: 'look', description: 'Looks at my screen', inputSchema: { type: 'object' } }
    await ask({ replace: { tools: [] }, tools: [mine] })
    expect(calls.requests.at(-1)?.tools).toMatchObject([mine])
  })

  test.each([
    [{ replace: { tools: ['lok'] } }, "no tool named 'lok'. Did you mean 'look'? It has: look, listen."],
    [{ replace: { tools: 'look' } }, 'must be an array of names of tools'],
    [{ replace: { system: 1 } }, "'request.replace.system' must be a string"],
    [{ replace: { prompt: 'x' } }, 'prompt'],
    [{ replace: ['x'] }, 'request.replace'],
    [{ replace: { tools: ['look'] }, toolChoice: { name: 'listen' } }, "toolChoice names 'listen'"],
    [{ replace: { tools: [] }, toolChoice: 'required' }, 'has no tools'],
  ])('%j is rejected before anything is written', async (request, problem) => {
    const { ask, thread } = opened({ model: calls, tools: [look, listen] })
    await expect(ask(request as never)).rejects.toThrow(problem)
    await expect(thread.info()).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('a run that another process resumes', () => {
  const request = { model: 'large', replace: { system: 'Be brief.', tools: ['hold'] } }
  const price = { input: 1000, output: 1000 }

  /** A process whose agent holds on to a tool call, and then answers. */
  function startProcess(store: ReturnType<typeof openStore>, more: Partial<AgentOptions> = {}) {
    const held = heldTool('hold', { repeat: 'safe' })
    const large = scriptedModel(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'hold' }]),
      { id: 'large', price },
    )
    const helper = agent({
      name: 'helper',
      model: says('small'),
      models: [large],
      system: 'Be kind.',
      tools: [held.tool, look],
      ...more,
    })
    return { app: startApp({ agents: helper, store, recoverMs: 10 }), held, large }
  }

  test('keeps its model, prompt and tools', async () => {
    const store = openStore()
    const first = startProcess(store)
    await first.app.thread('t').send('Hi', { request })
    await first.held.startedTimes(1)
    await first.app.close({ graceMs: 0 })

    const second = startProcess(store)
    await second.held.startedTimes(1)
    second.held.runs[0]?.release()
    const entries = await untilIdle(second.app.thread('t'))
    expect(modelsIn(entries)).toEqual(['large', 'large'])
    expect(second.large.requests.map(systemOf)).toEqual([['Be brief.']])
    expect(second.large.requests[0]?.tools.map(({ name }) => name)).toEqual(['hold'])
  })

  test('counts what the lost process has spent with the price of its model', async () => {
    const store = openStore()
    const endless = scriptedModel(() => 'word '.repeat(1000), { id: 'large', price, paceMs: 5 })
    const first = startProcess(store, { models: [endless], tools: [] })
    const thread = first.app.thread('t')
    await thread.send('Hi', { request: { model: 'large', replace: { system: 'x'.repeat(4000) } } })
    for await (const { event } of thread.follow()) if (event.type === 'text') break
    await first.app.close({ graceMs: 0 })

    const second = startProcess(store, {
      models: [scriptedModel(['Done.'], { id: 'large', price })],
      tools: [],
    })
    const entries = await untilIdle(second.app.thread('t'))
    const [retracted] = eventsOf(entries, 'round-retract')
    // A thousand tokens of the replaced prompt cost a dollar.
    expect(retracted?.failed).toMatchObject({ model: 'large', cost: { usd: expect.closeTo(1, 1) } })
    expect(textIn(entries)).toContain('Done.')
  })

  test('continues with the default model and the other tools if its agent no longer has them', async () => {
    const store = openStore()
    const first = startProcess(store)
    await first.app.thread('t').send('Hi', { request })
    await first.held.startedTimes(1)
    await first.app.close({ graceMs: 0 })

    const second = startProcess(store, { models: [], tools: [look] })
    const entries = await untilIdle(second.app.thread('t'))
    expect(textIn(entries)).toBe('I am small.')
    expect(modelsIn(entries)).toEqual(['large', 'small'])
  })
})
