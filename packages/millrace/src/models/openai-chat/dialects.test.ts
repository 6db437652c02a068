import { expect, test } from 'vitest'
import { dialectOf } from './dialects.ts'

test.each([
  ['https://api.openai.com/v1', 'openai', 'OPENAI_API_KEY'],
  ['https://eu.api.openai.com/v1', 'openai', 'OPENAI_API_KEY'],
  ['https://acme.openai.azure.com/openai/v1', 'azure', 'AZURE_OPENAI_API_KEY'],
  ['https://acme.services.ai.azure.com/openai/v1', 'azure', 'AZURE_OPENAI_API_KEY'],
  ['https://acme.cognitiveservices.azure.com/openai', 'azure', 'AZURE_OPENAI_API_KEY'],
  ['https://api.groq.com/openai/v1', 'groq', 'GROQ_API_KEY'],
  ['https://api.deepseek.com', 'deepseek', 'DEEPSEEK_API_KEY'],
  ['https://api.mistral.ai/v1', 'mistral', 'MISTRAL_API_KEY'],
  ['https://api.x.ai/v1', 'xai', 'XAI_API_KEY'],
  ['https://dashscope.aliyuncs.com/compatible-mode/v1', 'alibaba', 'DASHSCOPE_API_KEY'],
  ['https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'alibaba', 'DASHSCOPE_API_KEY'],
  ['https://api.moonshot.cn/v1', 'moonshot', 'MOONSHOT_API_KEY'],
  ['https://openrouter.ai/api/v1', 'openrouter', 'OPENROUTER_API_KEY'],
  ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini', 'GEMINI_API_KEY'],
])('%s is %s, with its key in %s', (address, provider, keyName) => {
  expect(dialectOf(address)).toMatchObject({ provider, keyName, needsKey: true })
})

test.each([
  ['http://localhost:11434/v1', 'ollama'],
  ['http://127.0.0.1:1234/v1', 'lmstudio'],
  ['http://[::1]:8000/v1', 'vllm'],
  ['http://host.docker.internal:8080', 'llamacpp'],
  ['http://localhost:5555', 'local'],
])('%s is %s and needs no key', (address, provider) => {
  expect(dialectOf(address)).toMatchObject({ provider, needsKey: false })
  expect(dialectOf(address)).not.toHaveProperty('keyName')
})

test('an unknown address gets no key from the environment, and its host is the provider name', () => {
  for (const address of [
    'https://models.acme.com:8443/v1',
    'https://notopenai.com/v1',
    'https://fakex.ai/v1',
    'https://dashscope.evil.test/v1',
    'https://bucket.oss-cn-hangzhou.aliyuncs.com/v1',
    'https://dashscope.vm.cloudapp.azure.com/v1',
    'https://api.openai.com.evil.test/v1',
  ]) {
    const { provider, keyName } = dialectOf(address)
    expect({ provider, keyName }).toEqual({ provider: new URL(address).host, keyName: undefined })
  }
})

test('OpenAI, Azure and OpenRouter support files', () => {
  const takes = (address: string) => dialectOf(address).files
  const hosts = [
    'api.openai.com',
    'acme.openai.azure.com',
    'openrouter.ai',
    'api.groq.com',
    'localhost:11434',
  ]
  expect(hosts.map((host) => takes(`https://${host}/v1`))).toEqual([true, true, true, false, false])
})

test('each provider gets reasoning settings in its own format', () => {
  const asked = (address: string) => {
    const { reasoning } = dialectOf(address)
    return [reasoning('none'), reasoning('low')]
  }
  expect(asked('https://api.openai.com/v1')).toEqual([
    { reasoning_effort: 'none' },
    { reasoning_effort: 'low' },
  ])
  const thinking = [{ thinking: { type: 'disabled' } }, { thinking: { type: 'enabled' } }]
  expect(asked('https://api.deepseek.com')).toEqual(thinking)
  expect(asked('https://api.moonshot.ai/v1')).toEqual(thinking)
  expect(asked('https://dashscope.aliyuncs.com/compatible-mode/v1')).toEqual([
    { enable_thinking: false },
    { enable_thinking: true },
  ])
  expect(asked('https://openrouter.ai/api/v1')).toEqual([
    { reasoning: { effort: 'none' } },
    { reasoning: { effort: 'low' } },
  ])
  expect(asked('https://api.mistral.ai/v1')).toEqual([{}, { reasoning_effort: 'high' }])
})
