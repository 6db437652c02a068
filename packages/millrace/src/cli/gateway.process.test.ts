import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { client } from '../client/index.ts'
import type { Home } from './cli.test-kit.ts'
import { built, homeWith, linesOf, makeHome } from './cli.test-kit.ts'

async function serving(home: Home, args: readonly string[], env = {}) {
  const server = home.start(['serve', ...args, '--port', '0'], { env })
  onTestFinished(async () => {
    server.child.kill('SIGKILL')
    await server.ended
  })
  await server.see(/listening at http:\S+\n/)
  await server.see(/Anthropic clients to .*\n/)
  const [, url = ''] = /listening at (\S+)/.exec(server.stdout()) ?? []
  return { ...server, url, ...clientsOf(url) }
}

function clientsOf(url: string, key = 'any') {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: url, apiKey: key, authToken: null, maxRetries: 0 })
  return {
    openai,
    anthropic,
    chat: async (model: string) => {
      const { choices } = await openai.chat.completions.create({
        model,
        messages: [{ role: 'user', content: 'hi' }],
      })
      return choices[0]?.message.content
    },
    message: async (model: string) => {
      const { content } = await anthropic.messages.create({
        model,
        max_tokens: 100,
        messages: [{ role: 'user', content: 'hi' }],
      })
      return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    },
  }
}

describe('millrace serve --gateway', () => {
  test('serves models by name to clients of OpenAI and Anthropic', async () => {
    const home = await homeWith(() => 'Ahoy.')
    const { url, openai, chat, message, child, ended } = await serving(home, [
      '--gateway',
      '--model',
      'simulator',
      '--model',
      'openai-chat/test-model',
    ])
    expect(await chat('simulator')).toContain('You said: hi')
    expect(await message('simulator')).toContain('You said: hi')
    expect(await chat('test-model')).toBe('Ahoy.')
    expect(await message('openai-chat/test-model')).toBe('Ahoy.')
    const response = await openai.responses.create({ model: 'test-model', input: 'hi' })
    expect(response.output_text).toBe('Ahoy.')
    const models = ['simulator', 'test-model', 'openai-chat/test-model']
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(models)
    child.kill('SIGINT')
    const { exit, stderr } = await ended
    expect(exit).toBe(0)
    expect(stderr).toContain(`models: ${models.join(', ')}; threads are stored in `)
    expect(stderr).toContain(`OpenAI-compatible clients connect to ${url}/v1, Anthropic clients to ${url}\n`)
  })

  test('an unknown model is rejected with the names that exist', async () => {
    const { chat, message } = await serving(makeHome(), ['--gateway', '--model', 'simulator'])
    await expect(chat('gpt-9')).rejects.toThrow(OpenAI.NotFoundError)
    await expect(chat('gpt-9')).rejects.toThrow(/simulator/)
    await expect(message('gpt-9')).rejects.toThrow(Anthropic.NotFoundError)
    await expect(message('gpt-9')).rejects.toThrow(/simulator/)
  })

  test('a model gets what the client sends, and the client runs its own tools', async () => {
    const home = await homeWith([[{ call: 'weather', input: { city: 'Bern' } }], 'It rains.'])
    const { openai } = await serving(home, ['--gateway'])
    const tools = [
      {
        type: 'function' as const,
        function: {
          name: 'weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } } },
        },
      },
    ]
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather?' },
    ]
    const ask = { model: 'test-model', tools, temperature: 0.25 }
    const { choices } = await openai.chat.completions.create({ ...ask, messages })
    const [choice] = choices
    const [call] = choice?.message.tool_calls ?? []
    if (!choice || !call) throw new Error('there is no call')
    expect(choice.finish_reason).toBe('tool_calls')
    messages.push(choice.message, { role: 'tool', tool_call_id: call.id, content: 'rain' })
    const last = await openai.chat.completions.create({ ...ask, messages })
    expect(last.choices[0]?.message.content).toBe('It rains.')
    expect(home.simulator.requests.map(({ body }) => body)).toMatchObject([
      {
        model: 'test-model',
        temperature: 0.25,
        messages: [{ role: expect.any(String), content: 'Be brief.' }, { role: 'user' }],
        tools: [{ function: { name: 'weather' } }],
      },
      { messages: [{ content: 'Be brief.' }, { role: 'user' }, { role: 'assistant' }, { role: 'tool' }] },
    ])
  })

  test('a fallback answers under the name of the model that failed', async () => {
    const home = await homeWith(({ body }) =>
      (body as { model: string }).model === 'first'
        ? [{ error: { code: 'auth', status: 401, message: 'no such key' } }]
        : 'From the second.',
    )
    const { chat, openai } = await serving(home, [
      '--gateway',
      '--model',
      'openai-chat/first|openai-chat/second',
    ])
    expect(await chat('first')).toBe('From the second.')
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['first', 'openai-chat/first'])
  })

  test('an answer is a thread with a recorded request, which other commands show', async () => {
    const home = await homeWith(['It is.'])
    const { url, openai } = await serving(home, ['--gateway'])
    const { response } = await openai.chat.completions
      .create({ model: 'test-model', messages: [{ role: 'user', content: 'Is this kept?' }], stream: true })
      .withResponse()
    await response.text()
    const id = response.headers.get('x-thread-id') ?? ''
    const { stdout } = await home.run(['threads', '--json'])
    expect(linesOf(stdout)).toMatchObject([{ thread: { id, agent: 'test-model' } }])
    expect((await home.run(['show', id])).stdout).toContain('It is.')
    const thread = client(url).thread(id)
    const { run } = await thread.state()
    expect(await thread.exchanges({ run: run?.id ?? '' })).toMatchObject([
      { model: 'test-model', wire: [{ status: 200, body: expect.stringContaining('Is this kept?') }] },
    ])
  })

  test('the token is accepted as a bearer token and as an API key', async () => {
    const { url } = await serving(makeHome(), ['--gateway', '--model', 'simulator'], {
      MILLRACE_TOKEN: 's3cret',
    })
    const known = clientsOf(url, 's3cret')
    expect(await known.chat('simulator')).toContain('You said: hi')
    expect(await known.message('simulator')).toContain('You said: hi')
    const unknown = clientsOf(url, 'wrong')
    await expect(unknown.chat('simulator')).rejects.toThrow(OpenAI.AuthenticationError)
    await expect(unknown.message('simulator')).rejects.toThrow(Anthropic.AuthenticationError)
  })

  test('flags that belong to an agent are rejected', async () => {
    const home = makeHome()
    expect(await home.run(['serve', '--gateway', '--model', 'simulator', '--system', 'x'])).toMatchObject({
      exit: 2,
      stderr:
        'millrace: --gateway cannot be combined with --system: the clients of a gateway send their own\n',
    })
  })
})

test('millrace serve serves every agent as a model', async () => {
  const home = makeHome()
  home.write(
    'agents.ts',
    `import { agent } from ${JSON.stringify(built('index'))}
     import { scriptedModel } from ${JSON.stringify(built('testing/index'))}
     const saying = (text: string) => scriptedModel(() => text)
     export default {
       desk: agent({ name: 'desk', model: saying('The desk is open.') }),
       night: agent({ name: 'night', model: saying('Good night.') }),
     }`,
  )
  const { openai, chat, message } = await serving(home, ['agents.ts'])
  expect(await chat('desk')).toBe('The desk is open.')
  expect(await message('night')).toBe('Good night.')
  expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['desk', 'night'])
})
