import { expect, test } from 'vitest'
import { openModel } from './models.ts'

/** No local server answers. */
const fetch = () => Promise.reject(new Error('connection refused'))
const open = async (name: string, env = {}) => (await openModel(name, { env, fetch })).model

test.each([
  ['anthropic/claude-sonnet-5-5', 'anthropic', 'claude-sonnet-5-5'],
  ['openai/gpt-5.5', 'openai', 'gpt-5.5'],
  ['openai-chat/gpt-5.5', 'openai', 'gpt-5.5'],
  ['groq/openai/gpt-oss-120b', 'groq', 'openai/gpt-oss-120b'],
  ['gemini/gemini-3.8-flash', 'gemini', 'gemini-3.8-flash'],
  ['openrouter/openrouter/auto', 'openrouter', 'openrouter/auto'],
  ['ollama/llama3.3', 'ollama', 'llama3.3'],
  ['lmstudio/qwen', 'lmstudio', 'qwen'],
  ['http://127.0.0.1:8000/v1#org/model', 'vllm', 'org/model'],
  ['https://example.test/v1#m', 'example.test', 'm'],
  ['claude-opus-5', 'anthropic', 'claude-opus-5'],
  ['gpt-5.5', 'openai', 'gpt-5.5'],
  ['simulator', 'scripted', 'simulator'],
])('--model %s uses the provider %s', async (name, provider, id) => {
  expect(await open(name)).toMatchObject({ provider, id })
})

test('MILLRACE_MODEL is used without --model', async () => {
  const { model } = await openModel(undefined, { env: { MILLRACE_MODEL: 'openai/gpt-5.5' } })
  expect(model.id).toBe('gpt-5.5')
  const { model: named } = await openModel('simulator', { env: { MILLRACE_MODEL: 'openai/gpt-5.5' } })
  expect(named.id).toBe('simulator')
})

test('the simulator has a price, and costs nothing', async () => {
  const { model } = await openModel('simulator')
  expect(model).toMatchObject({ simulated: true, price: { input: 1, output: 4 } })
})

test('without either, the detected model is used, with the reason', async () => {
  const { model, why } = await openModel(undefined, { env: { ANTHROPIC_API_KEY: 'k' } })
  expect(model.provider).toBe('anthropic')
  expect(why).toContain('because ANTHROPIC_API_KEY is set')
})

test('a bare name goes to the detected provider', async () => {
  expect(await open('some-model', { MISTRAL_API_KEY: 'k' })).toMatchObject({
    provider: 'mistral',
    id: 'some-model',
  })
})

test.each([
  ['opnai/gpt-5.5', /unknown provider 'opnai' in --model \(did you mean 'openai'\?\)/],
  ['openai/', /has no model name: use openai\/NAME/],
  ['http://host/v1', /add it after a #, as in http:\/\/host\/v1#NAME/],
  ['http://user:secret@host/v1#m', /must not contain a user name or password/],
])('--model %s is rejected, with what to write instead', async (name, message) => {
  await expect(open(name)).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(message),
  })
})

test('without any model, the error says which keys to set and how to try it without one', async () => {
  const failure = openModel(undefined, { env: {}, fetch })
  await expect(failure).rejects.toMatchObject({ code: 'auth' })
  await expect(failure).rejects.toThrow(/ANTHROPIC_API_KEY.*\n.*--model.*\n.*simulator/)
})
