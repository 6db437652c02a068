import { expect, test } from 'vitest'
import { dialectOf } from '../../millrace/src/models/openai-chat/dialects.ts'
import { providerName } from './provider-names.ts'

test.each<[address: string, name: string]>([
  ['https://api.openai.com/v1', 'openai'],
  ['https://eu.api.openai.com/v1', 'openai'],
  ['https://desk.openai.azure.com/openai/v1', 'azure.ai.openai'],
  ['https://api.groq.com/openai/v1', 'groq'],
  ['https://api.deepseek.com', 'deepseek'],
  ['https://api.mistral.ai/v1', 'mistral_ai'],
  ['https://api.x.ai/v1', 'x_ai'],
  ['https://api.moonshot.ai/v1', 'moonshot_ai'],
  ['https://generativelanguage.googleapis.com/v1beta/openai', 'gcp.gemini'],
  // The conventions have no name for these.
  ['https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'alibaba'],
  ['https://openrouter.ai/api/v1', 'openrouter'],
  ['http://localhost:11434/v1', 'ollama'],
  ['http://localhost:4321/v1', 'local'],
])('the provider at %s is called %s in the conventions', (address, name) => {
  expect(providerName(dialectOf(address).provider)).toBe(name)
})

test.each<[id: string, name: string]>([
  ['openai.chat', 'openai'],
  ['openai.responses', 'openai'],
  ['openai.completion', 'openai'],
  ['azure.responses', 'azure.ai.openai'],
  ['azure-openai.chat', 'azure.ai.openai'],
  ['anthropic.messages', 'anthropic'],
  ['vertex.anthropic.messages', 'gcp.vertex_ai'],
  ['bedrock.anthropic.messages', 'aws.bedrock'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['google.generative-ai', 'gcp.gemini'],
  ['google.interactions', 'gcp.gemini'],
  ['google.vertex.chat', 'gcp.vertex_ai'],
  ['mistral.chat', 'mistral_ai'],
  ['xai.responses', 'x_ai'],
  ['moonshotai.chat', 'moonshot_ai'],
  ['cohere.chat', 'cohere'],
  ['perplexity', 'perplexity'],
  ['togetherai.chat', 'togetherai.chat'],
])('%s of the AI SDK is called %s in the conventions', (id, name) => {
  expect(providerName(id)).toBe(name)
})

test.each(['openai.example.org', 'groq.internal:8443', 'llm.example.org', 'constructor', '__proto__', ''])(
  'an unknown provider keeps its own name: %j',
  (name) => {
    expect(providerName(name)).toBe(name)
  },
)
