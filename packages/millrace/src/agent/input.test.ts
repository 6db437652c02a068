import { describe, expect, test } from 'vitest'
import { anthropic } from '../models/anthropic.ts'
import { fromGenerate } from '../models/index.ts'
import { openai, openaiChat } from '../models/openai.ts'
import type { InputMessage } from '../protocol/index.ts'
import { isMillraceError } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import type { Tool } from '../tools/index.ts'
import { collect, echo } from './agent.test-kit.ts'
import { agent } from './agent.ts'

const model = () => scriptedModel(script.text('ok'))
const call = (callId: string): InputMessage => ({
  role: 'assistant',
  content: [{ type: 'tool-call', callId, name: 'echo', input: { value: 'x' } }],
})
const result = (callId: string, text = 'x'): InputMessage => ({
  role: 'tool',
  callId,
  name: 'echo',
  content: text,
})
const user = (content: string): InputMessage => ({ role: 'user', content })

/** The error that `stream()` throws. The model must not have been called. */
function errorOf(input: unknown, options: object = {}, run?: object): unknown {
  const silent = scriptedModel([])
  try {
    agent({ model: silent, ...options }).stream(input as never, run as never)
  } catch (error) {
    expect(silent.requests).toEqual([])
    expect(isMillraceError(error)).toBe(true)
    return error
  }
  return expect.unreachable('it did not throw')
}

describe('input', () => {
  test('text, a message or a list of messages is a conversation', async () => {
    const asked = async (input: Parameters<ReturnType<typeof agent>['stream']>[0]) => {
      const scripted = model()
      await agent({ model: scripted }).run(input)
      return scripted.requests[0]?.messages
    }
    expect(await asked('hi')).toEqual([user('hi')])
    expect(await asked({ role: 'user', content: 'hi' })).toEqual([user('hi')])
    expect(await asked([user('a'), { role: 'assistant', content: 'b' }, user('c')])).toEqual([
      user('a'),
      { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
      user('c'),
    ])
  })

  test('bytes become base64', async () => {
    const scripted = model()
    await agent({ model: scripted }).run({
      role: 'user',
      content: [{ type: 'image', data: new Uint8Array([255, 0]), mediaType: 'image/png' }],
    })
    expect(scripted.requests[0]?.messages[0]?.content).toEqual([
      { type: 'image', data: '/wA=', mediaType: 'image/png' },
    ])
  })

  test.each([
    ['no text', '', /empty/],
    ['white space', ' \n', /empty/],
    ['nothing', undefined, /must be text or messages, not undefined/],
    ['no messages', [], /has no messages/],
    ['parts without content', { role: 'user', content: [] }, /empty/],
    ['a number', 7, /messages\[0\] must be a message such as/],
    ['an unknown role', [{ role: 'robot', content: 'x' }], /messages\[0\]\.role must be 'system', 'user'/],
    [
      'an unknown part',
      [{ role: 'user', content: [{ type: 'video' }] }],
      /messages\[0\]\.content\[0\]\.type must be one of text, image, file/,
    ],
    [
      'a conversation that ends with the assistant',
      [user('a'), { role: 'assistant', content: 'b' }],
      /must end with a user message/,
    ],
    ['only a system message', [{ role: 'system', content: 'x' }], /must end with a user message/],
    [
      'only a result',
      [result('1')],
      /^the conversation ends with the result of '1', but no assistant message has that tool call: add the call/,
    ],
    [
      'a result and a system message',
      [{ role: 'system', content: 'x' }, result('1')],
      /ends with the result of '1', but no assistant message has that tool call/,
    ],
    [
      'a result that is too late',
      [user('a'), call('1'), { role: 'assistant', content: 'b' }, result('1')],
      /an assistant message comes between that call and its result.*: end with a user message/,
    ],
    [
      'an image without data',
      { role: 'user', content: [{ type: 'image' }] },
      /content\[0\] needs a url or data \(base64 or bytes\), but has neither/,
    ],
  ])('stream() throws on %s', (_, input, message) => {
    expect(errorOf(input)).toMatchObject({
      code: 'invalid_input',
      op: 'agent.stream',
      message: expect.stringMatching(message),
    })
  })

  test('a file is rejected for a model that does not accept files', () => {
    const plain = scriptedModel([], { id: 'plain', capabilities: { files: false } })
    const input = { role: 'user', content: [{ type: 'file', mediaType: 'application/pdf', data: 'AAAA' }] }
    expect(errorOf(input, { model: plain })).toMatchObject({
      message: expect.stringMatching(/'plain' does not accept files/),
    })
  })

  test('an image is rejected for a model that does not accept images', () => {
    const blind = scriptedModel([], { id: 'blind', capabilities: { images: false } })
    const input = {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'image', url: 'https://example.test/a.png' },
      ],
    }
    expect(errorOf(input, { model: blind })).toMatchObject({
      message: expect.stringMatching(/'blind' does not accept images/),
    })
  })
})

describe('a history with unpaired calls', () => {
  async function repaired(input: InputMessage[]) {
    const scripted = model()
    const run = agent({ model: scripted }).stream(input)
    const [start] = await collect(run)
    return {
      repairs: start?.type === 'run-start' && start.repairs,
      sent: scripted.requests[0]?.messages.map((message) =>
        message.role === 'tool' ? message.callId : message.role,
      ),
    }
  }

  test('a call without a result gets an unknown result', async () => {
    expect(await repaired([user('a'), call('1'), user('b')])).toEqual({
      sent: ['user', 'assistant', '1', 'user'],
      repairs: ["added a result for the call '1', which had none"],
    })
  })

  test('a result in the wrong place is moved after its call', async () => {
    expect(await repaired([user('a'), call('1'), user('b'), result('1'), user('c')])).toMatchObject({
      sent: ['user', 'assistant', '1', 'user', 'user'],
    })
  })

  test('duplicate results, and results whose calls were trimmed away, are removed', async () => {
    expect(await repaired([result('0'), user('a'), call('1'), result('1'), result('1'), user('b')])).toEqual({
      sent: ['user', 'assistant', '1', 'user'],
      repairs: [
        "left out the result of '0', whose call is no longer in the history",
        "left out a second copy of the result of '1'",
      ],
    })
  })

  test('a reused id, as from providers that restart ids in each round, is renamed', async () => {
    expect(
      await repaired([user('a'), call('1'), result('1'), call('1'), result('1', 'y'), user('b')]),
    ).toEqual({
      sent: ['user', 'assistant', '1', 'assistant', '1_2', 'user'],
      repairs: ["renamed the second call '1' to '1_2'"],
    })
  })

  test('a valid history is left unchanged, without repairs', async () => {
    expect(await repaired([user('a'), call('1'), result('1')])).toEqual({
      sent: ['user', 'assistant', '1'],
      repairs: undefined,
    })
  })

  test.each([
    [
      'a result that answers no call',
      [user('a'), call('1'), result('1'), result('2'), user('b')],
      /'2', but no assistant message contains that tool call/,
    ],
    [
      'two different results for one call',
      [user('a'), call('1'), result('1'), result('1', 'y'), user('b')],
      /two different results/,
    ],
    [
      'two open calls with the same id',
      [user('a'), call('1'), call('1'), result('1'), user('b')],
      /two tool calls with the id '1'/,
    ],
  ])('%s is rejected', (_, input, message) => {
    expect(errorOf(input)).toMatchObject({ code: 'invalid_input', message: expect.stringMatching(message) })
  })
})

describe('options', () => {
  const noStream = { settings: { extra: { stream: false } } }

  test.each<[string, (name: string, options: object) => unknown]>([
    ['openai', openai],
    ['openaiChat', openaiChat],
    ['anthropic', anthropic],
  ])('%s() rejects settings that turn off streaming', (op, model) => {
    const call = () => model('some-model', { extra: { stream: false } })
    expect(call).toThrow(/'extra' must not turn off streaming.*remove 'stream' from 'extra'/)
    expect(call).toThrow(expect.objectContaining({ code: 'invalid_input', op }))
  })

  test.each<[string, object, RegExp]>([
    ['two tools with the same name', { tools: [echo, echo] }, /two tools named 'echo'/],
    ['an invalid tool', { tools: [{ name: 'x' }] }, /tools created with tool\(\{ … \}\)/],
    ['a misspelled option', { maxRound: 3 }, /'maxRound' does not exist: did you mean 'maxRounds'\?/],
    [
      'no option at all',
      {},
      /needs a model, such as agent\(\{ model: openai\('gpt-5\.5'\) \}\) with openai from/,
    ],
    [
      'a negative limit',
      { maxRounds: -1 },
      /'maxRounds' must be a whole number of at least 0, or Infinity, not -1/,
    ],
    ['half a round', { maxRounds: 1.5 }, /'maxRounds'/],
    [
      'an invalid timeout',
      { idleMs: 'soon' },
      /'idleMs' must be a positive number of milliseconds, or Infinity, not "soon"/,
    ],
    ['no model', { model: undefined }, /^agent\(\) needs a model/],
    ['the name of a model', { model: 'gpt-5.5' }, /'model' must be a Model .*, not a string/],
    [
      'the name of an OpenAI model',
      { model: 'openai/gpt-5' },
      /^the agent option 'model' must be a Model .*, not a string: write openai\('gpt-5'\), with import \{ openai \} from 'millrace\/openai'$/,
    ],
    ['the same without its provider', { model: 'gpt-5.5' }, /: write openai\('gpt-5\.5'\), /],
    [
      'the name of an Anthropic model',
      { model: 'anthropic/claude-sonnet-5' },
      /: write anthropic\('claude-sonnet-5'\), with import \{ anthropic \} from 'millrace\/anthropic'$/,
    ],
    ['one of these in a list', { model: ['claude-opus-5'] }, /: write anthropic\('claude-opus-5'\), /],
    [
      'the name of another model',
      { model: 'mistral/mistral-large' },
      /: write openaiChat\('mistral-large', \{ baseURL: '…' \}\), with import \{ openaiChat \} from 'millrace\/openai', or use detectModel\(\)$/,
    ],
    ['tools in the singular', { tool: [] }, /'tool' does not exist: did you mean 'tools'\?/],
    [
      'a misspelled setting',
      { settings: { temprature: 1 } },
      /has no 'temprature': did you mean 'temperature'\?/,
    ],
    [
      'a limit that does not exist',
      { repeatLimits: { warn: 2, block: 3, blocked: 4 } },
      /'repeatLimits' has no 'blocked': did you mean 'block'\?/,
    ],
    [
      'a choice with more than a name',
      { toolChoice: { name: 'x', type: 'tool' } },
      /'toolChoice' has no 'type' \(available: name\)/,
    ],
    ['a list with something else in it', { model: [1] }, /an entry in the list of models must be a Model/],
    ['no models', { model: [] }, /'model' is an empty list/],
    ['an invalid hook', { beforeCall: 'x' }, /'beforeCall' must be a function/],
    ['a misspelled retry option', { retry: { attemps: 2 } }, /did you mean 'attempts'\?/],
    ['limits the wrong way round', { repeatLimits: { warn: 6, block: 3 } }, /'repeatLimits'/],
    ['an unknown onToolError', { onToolError: 'explode' }, /'onToolError' must be 'continue' or 'fail'/],
    ['a choice of a missing tool', { toolChoice: { name: 'x' } }, /no such tool/],
    ['settings without streaming', noStream, /Millrace always streams: remove 'stream' from 'extra'/],
    ['an output schema without JSON Schema', { output: {} }, /output must be a schema/],
    [
      'tools for a model without tool support',
      { tools: [echo], model: scriptedModel([], { capabilities: { tools: false } }) },
      /does not support tools/,
    ],
    ['a required tool call without tools', { toolChoice: 'required' }, /the agent has no tools/],
  ])('agent() throws on %s', (what, options, message) => {
    const model = scriptedModel([])
    const make = () => agent((what === 'no option at all' ? {} : { model, ...options }) as never)
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_input', op: 'agent' }))
  })

  test.each([undefined, null, 'gpt-5.5'])('agent(%j) throws', (options) => {
    expect(() => agent(options as never)).toThrow(/^agent\(\) takes one object of options, not /)
  })

  test('agent() throws on a model that cannot stream if streaming is required', () => {
    const model = fromGenerate(() => 'all at once', { id: 'slow' })
    expect(() => agent({ model, requireStreaming: true })).toThrow(
      expect.objectContaining({ code: 'streaming_not_supported', op: 'agent' }),
    )
  })

  test('a choice of a tool that a toolbox may add later is checked when a run starts', async () => {
    const tools: Tool[] = []
    const model = scriptedModel([[{ call: 'echo', input: { value: 'x' } }], 'Done.'])
    const one = agent({ model, tools: [{ tools }], toolChoice: { name: 'echo' } })
    const invalidInput = expect.objectContaining({ code: 'invalid_input', op: 'agent.stream' })
    expect(() => one.stream('go')).toThrow(invalidInput)
    tools.push(echo)
    expect(await one.stream('go').result).toMatchObject({ outcome: 'completed', text: 'Done.' })
  })

  test.each<[string, object, RegExp]>([
    ['an invalid signal', { signal: {} }, /'signal' must be an AbortSignal/],
    ['an agent option', { maxCorrections: 1 }, /'maxCorrections' does not exist/],
    ['a bad limit', { maxRounds: 'x' }, /'maxRounds'/],
    ['an unknown option', { xyzzy: 1 }, /'xyzzy' does not exist \(available: context, signal, maxRounds, /],
    ['settings without streaming', noStream, /Millrace always streams: remove 'stream' from 'extra'/],
  ])('%s is rejected for a run', (_, run, message) => {
    expect(errorOf('hi', {}, run)).toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(message),
    })
  })

  test('plan() throws and run() rejects too', async () => {
    const one = agent({ model: scriptedModel([]) })
    await expect(one.run('')).rejects.toMatchObject({ op: 'agent.run', code: 'invalid_input' })
    expect(() => one.plan('')).toThrow(/empty/)
  })
})
