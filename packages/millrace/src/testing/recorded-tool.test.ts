import { expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { recordedTool, scriptedModel } from './index.ts'

test('a call gets the result recorded for its input, several in turn, and inputs are recorded', async () => {
  const weather = recordedTool('weather', [
    { input: { city: 'Rome' }, output: 'sunny' },
    { input: { city: 'Oslo' }, error: 'no such city' },
    { input: { city: 'Rome' }, output: { sky: 'gray' } },
  ])
  const calls = ['Oslo', 'Rome', 'Rome', 'Rome'].map((city) => ({ call: 'weather', input: { city } }))
  const { messages } = await agent({ model: scriptedModel([calls, 'So.']), tools: [weather] }).run('?')
  expect(messages.flatMap((message) => (message.role === 'tool' ? [message.content[0]] : []))).toEqual([
    { type: 'text', text: 'The tool failed: no such city' },
    { type: 'text', text: 'sunny' },
    { type: 'json', value: { sky: 'gray' } },
    {
      type: 'text',
      text: `The tool failed: no call of 'weather' was recorded with the input {"city":"Rome"}`,
    },
  ])
  expect(weather.calls).toEqual([{ city: 'Oslo' }, { city: 'Rome' }, { city: 'Rome' }, { city: 'Rome' }])
})

test('approval is asked where it was, and may change the input', async () => {
  const pay = recordedTool('pay', [
    { input: { euros: 5 }, output: 'paid' },
    { input: { euros: 500 }, asks: 'That is a lot', output: 'paid less' },
  ])
  const model = scriptedModel([[5, 500].map((euros) => ({ call: 'pay', input: { euros } })), 'So.'])
  const run = agent({ model, tools: [pay] }).stream('?')
  const { approvals } = await run.result
  expect(approvals).toMatchObject([{ callId: 'call_2', reason: 'That is a lot' }])
  const { messages } = await run.resume({ callId: 'call_2', approved: true, input: { euros: 50 } }).result
  expect(messages.at(-2)).toMatchObject({ content: [{ type: 'text', text: 'paid less' }] })
  expect(pay.calls).toEqual([{ euros: 5 }, { euros: 50 }])
})

test('a call that did not finish hangs until it is canceled', async () => {
  const slow = recordedTool('slow', [{ input: {}, hangs: true }])
  const run = agent({ model: scriptedModel([[{ call: 'slow' }]]), tools: [slow] }).stream('?')
  for await (const event of run) if (event.type === 'tool-start') run.cancel('enough')
  expect(await run.result).toMatchObject({ outcome: 'canceled' })
  expect(slow.calls).toEqual([{}])
})
