import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { agent, millrace, tool } from '../index.ts'
import { scriptedModel } from '../testing/index.ts'
import { roundInput } from './index.ts'

const look = tool({
  name: 'look',
  description: 'Looks',
  input: z.object({}),
  run: () => 'There it is.',
})

it('is what the model read in each round, without the system prompt', async () => {
  const model = scriptedModel([
    [{ text: 'Let me see.' }, { call: 'look' }],
    'Found.',
    [{ text: 'Broken' }, { error: { code: 'stream_error', message: 'the stream broke' } }],
    'You are welcome.',
  ])
  const helper = agent({ name: 'helper', model, tools: [look], system: 'Look.', retry: { baseMs: 1 } })
  const app = millrace({ agents: helper })
  onTestFinished(() => app.close())
  const thread = await app.thread()
  const settings = { temperature: 0.5 }
  for (const [text, request] of [['Where is it?'], ['Thanks.', { settings }]] as const) {
    const seq = await thread.send(text, { request })
    for await (const _ of thread.follow({ until: seq })) {
      // Until it is answered.
    }
  }
  const entries = await thread.read()
  const rounds = entries.filter(({ event }) => event.type === 'round-start' || event.type === 'round-retry')
  expect(rounds).toHaveLength(4)
  for (const [place, { seq }] of rounds.entries()) {
    const [system, ...messages] = model.requests[place]?.messages ?? []
    expect(system).toEqual({ role: 'system', content: 'Look.' })
    expect(roundInput(entries, seq).messages).toEqual(messages)
  }
  expect(rounds.map(({ seq }) => roundInput(entries, seq).request?.settings)).toEqual([
    undefined,
    undefined,
    settings,
    settings,
  ])
})

it('contains the summary in place of the messages that were compacted', async () => {
  const full = { usage: { inputTokens: 950, outputTokens: 10 } }
  const model = scriptedModel([[{ text: 'In Lyon.' }, full], 'You are welcome.'])
  const helper = agent({
    model,
    maxContextTokens: 1000,
    compact: async () => ({ keep: 1, summary: 'The user asked where it is.' }),
  })
  const app = millrace({ agents: { helper } })
  onTestFinished(() => app.close())
  const thread = await app.thread()
  for (const text of ['Where is it?', 'Thanks.']) {
    const seq = await thread.send(text)
    for await (const _ of thread.follow({ until: seq })) {
      // Until it is answered.
    }
  }
  const entries = await thread.read()
  const last = entries.findLast(({ event }) => event.type === 'round-start')
  const { messages } = roundInput(entries, last?.seq ?? 0)
  expect(JSON.stringify(messages)).toContain('The user asked where it is.')
  expect(JSON.stringify(messages)).not.toContain('In Lyon.')
  expect(messages).toEqual(model.requests.at(-1)?.messages)
})
