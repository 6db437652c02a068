import { describe, expect, test } from 'vitest'
import { scriptedModel } from '../testing/index.ts'
import { callEcho, echo, failOnUnhandledRejections } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

describe('prepareRound', () => {
  test('changes model, messages, tools, system and settings for one round only', async () => {
    const other = scriptedModel([callEcho('x')], { id: 'other' })
    const model = scriptedModel(['done'])
    const run = agent({
      model,
      tools: [echo],
      system: 'A',
      settings: { temperature: 1 },
      prepareRound: ({ round, messages }) =>
        round === 1
          ? {
              model: other,
              system: 'B',
              messages: messages.slice(-1),
              settings: { temperature: 0 },
              toolChoice: 'required',
            }
          : { tools: [] },
    }).stream([
      { role: 'user', content: 'old' },
      { role: 'assistant', content: 'older' },
      { role: 'user', content: 'new' },
    ])
    const { messages } = await run.result
    expect(other.requests[0]).toMatchObject({
      messages: [
        { role: 'system', content: 'B' },
        { role: 'user', content: 'new' },
      ],
      settings: { temperature: 0 },
      toolChoice: 'required',
    })
    expect(model.requests[0]).toMatchObject({ tools: [], settings: { temperature: 1 } })
    expect(model.requests[0]?.messages).toHaveLength(6)
    expect(messages).toHaveLength(6)
  })

  test('a hook that throws ends the run with hook_failed', async () => {
    const prepareRound = () => {
      throw new Error('no budget')
    }
    const { error } = await agent({ model: scriptedModel([]), prepareRound }).stream('go').result
    expect(error).toMatchObject({ code: 'hook_failed', message: 'prepareRound threw: no budget' })
  })

  test('messages that arrive while the hook runs are part of that round', async () => {
    const hookDone = Promise.withResolvers<void>()
    const model = scriptedModel(['ok'])
    const run = agent({ model, prepareRound: () => hookDone.promise }).stream('go')
    await new Promise(setImmediate)
    run.steer('and quickly')
    hookDone.resolve()
    const { messages } = await run.result
    expect(model.requests[0]?.messages).toEqual([
      { role: 'user', content: 'go' },
      { role: 'user', content: 'and quickly' },
    ])
    expect(messages).toHaveLength(3)
  })

  test('two tools with the same name are rejected', async () => {
    const { error } = await agent({
      model: scriptedModel([]),
      prepareRound: () => ({ tools: [echo, echo] }),
    }).stream('go').result
    expect(error).toMatchObject({
      code: 'hook_failed',
      message: expect.stringMatching(/two tools named 'echo'/),
    })
  })

  test('messages with an unanswered call are not sent', async () => {
    const model = scriptedModel([callEcho('x'), 'never'])
    const { error } = await agent({
      model,
      tools: [echo],
      prepareRound: ({ messages }) => ({ messages: messages.filter((message) => message.role !== 'tool') }),
    }).stream('go').result
    expect(error).toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/'call_1' has no result/),
    })
    expect(model.requests).toHaveLength(1)
  })

  test('fields that are undefined change nothing', async () => {
    const model = scriptedModel(['Done.'])
    const run = agent({
      model,
      system: 'Be brief.',
      tools: [echo],
      settings: { seed: 1 },
      prepareRound: () =>
        ({
          messages: undefined,
          model: undefined,
          system: undefined,
          tools: undefined,
          settings: undefined,
          toolChoice: undefined,
        }) as never,
    }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done.' })
    expect(model.requests).toMatchObject([
      {
        messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
        tools: [{ name: 'echo' }],
        settings: { seed: 1 },
      },
    ])
  })

  test.each<[string, unknown, RegExp]>([
    [
      'a field that does not exist',
      { message: [] },
      /the field 'message' does not exist: did you mean 'messages'/,
    ],
    ['messages that are not a list', { messages: 'hi' }, /'messages' must be an array, not /],
    ['messages that are an object', { messages: {} }, /'messages' must be an array, not /],
    ['invalid tools', { tools: [{}] }, /'tools' must contain only tools created with tool/],
    [
      'a toolbox that was not awaited',
      { tools: [Promise.resolve()] },
      /'tools' contains a promise: await it/,
    ],
    ['a round', { round: 7 }, /the field 'round' does not exist/],
    ['a setting that does not exist', { settings: { topK: 1 } }, /'settings' has no 'topK'/],
    ['settings without streaming', { settings: { extra: { stream: false } } }, /Millrace always streams/],
  ])('%s fails the run and says why', async (_, change, message) => {
    const model = scriptedModel(['Done.'])
    const run = agent({ model, prepareRound: () => change as never }).stream('go')
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: { code: 'hook_failed', message: expect.stringMatching(message) },
    })
    expect(model.requests).toEqual([])
  })
})
