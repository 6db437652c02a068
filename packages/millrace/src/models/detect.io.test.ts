import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { detectModel } from './index.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const list = (...ids: string[]) =>
  serve((_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ object: 'list', data: ids.map((id) => ({ id, object: 'model' })) }))
  })

/** An address at which no server listens. */
async function unusedAddress(): Promise<string> {
  const url = await serve(() => {})
  closers.splice(-1).forEach((close) => {
    close()
  })
  return url
}

const noNetwork = () => Promise.reject(new Error('the network was used'))

describe('keys in the environment', () => {
  test.each([
    ['ANTHROPIC_API_KEY', 'anthropic'],
    ['OPENAI_API_KEY', 'openai'],
    ['GEMINI_API_KEY', 'gemini'],
    ['MISTRAL_API_KEY', 'mistral'],
    ['XAI_API_KEY', 'xai'],
    ['DEEPSEEK_API_KEY', 'deepseek'],
    ['GROQ_API_KEY', 'groq'],
    ['MOONSHOT_API_KEY', 'moonshot'],
    ['DASHSCOPE_API_KEY', 'alibaba'],
    ['OPENROUTER_API_KEY', 'openrouter'],
  ])('%s selects %s without network requests', async (key, provider) => {
    const { model, why } = await detectModel({ env: { [key]: 'sk-secret-secret' }, fetch: noNetwork })
    expect(model?.provider).toBe(provider)
    expect(why).toBe(`${provider} with ${model?.id}, because ${key} is set`)
    expect(why).not.toContain('secret')
  })

  test('a fetch that is passed sends the requests of the model too', async () => {
    const env = { ANTHROPIC_API_KEY: 'k' }
    const { model } = await detectModel({ env, fetch: noNetwork })
    const request = { messages: [{ role: 'user', content: 'hi' }], tools: [], settings: {} } as const
    const { signal } = new AbortController()
    const events = Array.fromAsync(model?.stream(request, { signal }) ?? [])
    await expect(events).rejects.toThrow('the network was used')
  })

  test('the first key in order of preference wins; empty keys are ignored', async () => {
    const env = { ANTHROPIC_API_KEY: ' ', GROQ_API_KEY: 'b', OPENAI_API_KEY: 'a' }
    expect((await detectModel({ env, fetch: noNetwork })).model?.provider).toBe('openai')
  })

  test('the model name can be passed', async () => {
    const { model } = await detectModel({
      env: { OPENAI_API_KEY: 'a' },
      model: 'gpt-mine',
      fetch: noNetwork,
    })
    expect(model?.id).toBe('gpt-mine')
  })

  test('process.env is used by default', async () => {
    const before = process.env.ANTHROPIC_API_KEY
    process.env.ANTHROPIC_API_KEY = 'sk-ant-test'
    try {
      expect((await detectModel({ fetch: noNetwork })).model?.provider).toBe('anthropic')
    } finally {
      if (before === undefined) delete process.env.ANTHROPIC_API_KEY
      else process.env.ANTHROPIC_API_KEY = before
    }
  })

  test.each([
    { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'nonsense' },
    { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'nonsense' },
    { OPENAI_API_KEY: 5 as never },
  ])('invalid keys are reported: %j', async (env) => {
    const { model, why } = await detectModel({ env, local: {} })
    expect(model).toBeUndefined()
    expect(why).not.toBe('')
  })
})

describe('local servers', () => {
  /** Generous for a busy machine; a missing server refuses the connection at once. */
  const timeoutMs = 30_000

  test('the first server in order that has a model is chosen', async () => {
    const local = {
      ollama: await unusedAddress(),
      lmstudio: await list('nomic-embed-text', 'qwen3:8b'),
      llamacpp: await list('x'),
    }
    const { model, why } = await detectModel({ env: {}, local, timeoutMs })
    expect(model).toMatchObject({ id: 'qwen3:8b', provider: 'lmstudio' })
    expect(why).toBe(`lmstudio with qwen3:8b, because no key is set and it answers at ${local.lmstudio}`)
  })

  test('OLLAMA_HOST sets the address of Ollama', async () => {
    const url = await list('llama3')
    const env = { OLLAMA_HOST: url.replace('http://127.0.0.1', '0.0.0.0') }
    expect((await detectModel({ env, timeoutMs })).why).toContain(
      `ollama with llama3, because no key is set and it answers at ${url}`,
    )
  })

  test('servers without models and other servers are skipped', async () => {
    const local = {
      empty: await list(),
      page: await serve((_, response) => response.end('<html>hello</html>')),
    }
    const { model, why } = await detectModel({ env: {}, local, timeoutMs })
    expect(model).toBeUndefined()
    expect(why).toContain(`empty at ${local.empty} (has no model)`)
    expect(why).toContain(`page at ${local.page}`)
  })

  test('a server that never responds is skipped', async () => {
    const silent = await serve(() => {})
    const { model, why } = await detectModel({ env: {}, local: { silent }, timeoutMs: 100 })
    expect(model).toBeUndefined()
    expect(why).toContain(`silent at ${silent}`)
  })

  test('without any model the reason lists what was tried', async () => {
    const { model, why } = await detectModel({ env: {}, local: {} })
    expect(model).toBeUndefined()
    expect(why).toMatch(
      /^no model found: none of ANTHROPIC_API_KEY, OPENAI_API_KEY, .* is set, and no local server answers$/,
    )
  })

  test('invalid addresses are rejected, and OLLAMA_HOST may have any port', async () => {
    for (const url of ['box:11434', 'http://u:p@host', 'nowhere'])
      await expect(detectModel({ env: {}, local: { ollama: url } })).rejects.toMatchObject({
        code: 'invalid_input',
      })
    const asked: string[] = []
    const fetch = async (url: string) => {
      asked.push(url)
      return new Response('no')
    }
    for (const OLLAMA_HOST of ['box', 'box:80', 'https://box', '0.0.0.0:1'])
      await detectModel({ env: { OLLAMA_HOST }, fetch })
    expect(asked.filter((url) => !/:(1234|8080)\//.test(url))).toEqual([
      'http://box:11434/v1/models',
      'http://box/v1/models',
      'https://box/v1/models',
      'http://127.0.0.1:1/v1/models',
    ])
  })
})

test('a misspelled option is rejected', async () => {
  await expect(detectModel({ modle: 'x' } as never)).rejects.toThrow("did you mean 'model'?")
})
