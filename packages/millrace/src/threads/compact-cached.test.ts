import { expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { ModelRequest } from '../protocol/index.ts'
import { textOf } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { startApp, untilIdle } from './threads.test-kit.ts'

test('a summary in the first round of a run is asked for at the end of the conversation so far', async () => {
  const isQuestion = ({ messages }: ModelRequest) =>
    textOf(messages.at(-1) as never).startsWith('Do not continue')
  const model = scriptedModel((request) => {
    if (isQuestion(request)) return 'We talked.'
    return [{ text: 'x'.repeat(2000) }, { usage: { inputTokens: request.messages.length * 1000 } }]
  })
  const helper = agent({ name: 'helper', model, system: 'Be kind.', maxContextTokens: 9500 })
  const thread = startApp({ agents: helper }).thread('t')
  for (const text of ['one', 'two', 'three', 'four', 'five', 'six']) {
    await thread.send(text)
    await untilIdle(thread)
  }
  const at = model.requests.findIndex(isQuestion)
  expect(at).toBeGreaterThan(0)
  const [before, question, after] = model.requests.slice(at - 1) as [ModelRequest, ModelRequest, ModelRequest]
  // The request before it, its answer, the new message and the question.
  expect(question.messages.slice(0, before.messages.length)).toEqual(before.messages)
  expect(question.messages).toHaveLength(before.messages.length + 3)
  expect(after.messages.slice(0, 2).map(textOf)).toEqual(['Be kind.', expect.stringContaining('We talked.')])
  expect(after.messages.some((message) => textOf(message).startsWith('Do not'))).toBe(false)
})
