import { afterEach, expect, test, vi } from 'vitest'
import type { Model } from '../protocol/index.ts'
import { anthropic } from './anthropic.ts'
import { openai, openaiChat } from './openai.ts'

afterEach(() => vi.unstubAllEnvs())

type Make = (name: string, options?: { baseURL?: string; apiKey?: string }) => Model

test.each<[string, Make, string]>([
  ['Responses', openai, 'https://api.openai.com'],
  ['Chat Completions', openaiChat, 'https://api.openai.com'],
  ['Messages', anthropic, 'https://api.anthropic.com'],
])('a model over %s exposes only the origin of its address', (_, make, usual) => {
  vi.stubEnv('OPENAI_BASE_URL', undefined)
  vi.stubEnv('ANTHROPIC_BASE_URL', undefined)
  expect(make('some-model').address).toBe(usual)
  const baseURL = 'http://gateway.example:8080/tenant-7/v1?api-key=secret'
  expect(make('some-model', { baseURL }).address).toBe('http://gateway.example:8080')
  vi.stubEnv('OPENAI_BASE_URL', 'https://elsewhere.example/v1')
  vi.stubEnv('ANTHROPIC_BASE_URL', 'https://elsewhere.example')
  expect(make('some-model', { apiKey: 'sk-test' }).address).toBe('https://elsewhere.example')
})
