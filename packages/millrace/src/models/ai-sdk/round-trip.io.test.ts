import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { ProviderSimulator } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../agent/index.ts'
import type { ScriptRound } from '../../testing/index.ts'
import { tool } from '../../tools/index.ts'
import { fromAISDK } from '../ai-sdk.ts'

// A provider gets its own data back unchanged. Like real providers, the simulator rejects modified
// data.

async function simulate(rounds: readonly ScriptRound[]) {
  const sim = await providerSimulator(rounds)
  onTestFinished(() => sim.close())
  const settings = { apiKey: 'k', baseURL: sim.baseURL }
  return { sim, openai: createOpenAI(settings), anthropic: createAnthropic(settings) }
}

const look = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'seen' })

/**
 * Everything a provider may need back: reasoning, redacted reasoning, a provider tool, text, a
 * call.
 */
const first: ScriptRound = [
  { reasoning: 'Let me think.' },
  { reasoning: '', opaque: { provider: 'anthropic', data: { redacted: true } } },
  {
    providerTool: 'web_search',
    input: { query: 'q' },
    output: [
      {
        type: 'web_search_result',
        url: 'https://a.example',
        title: 'A',
        encrypted_content: 'sealed',
        page_age: null,
      },
    ],
  },
  { text: 'I see. ' },
  { call: 'look' },
]

/** The second request's copy of the first round's content, in order. */
function sentBack(sim: ProviderSimulator): { type?: string; role?: string; [field: string]: unknown }[] {
  const body = sim.requests[1]?.body as { messages?: { content: object[] }[]; input?: object[] } | undefined
  return (body?.messages?.[1]?.content ?? body?.input?.slice(1) ?? []) as never
}

test("Anthropic's signatures, redacted thinking and searches are sent back unchanged", async () => {
  const { sim, anthropic } = await simulate([first, 'Done.'])
  const tools = { web_search: anthropic.tools.webSearch_20250305() }
  const { text } = await agent({ model: fromAISDK(anthropic('claude-sim'), { tools }), tools: [look] }).run(
    'Go.',
  )
  expect(text).toBe('Done.')
  expect(sentBack(sim)).toMatchObject([
    { type: 'thinking', thinking: 'Let me think.', signature: expect.any(String) },
    { type: 'redacted_thinking', data: expect.any(String) },
    { type: 'server_tool_use', name: 'web_search', input: { query: 'q' } },
    {
      type: 'web_search_tool_result',
      content: [{ url: 'https://a.example', title: 'A', encrypted_content: 'sealed' }],
    },
    { type: 'text', text: 'I see. ' },
    { type: 'tool_use', name: 'look', input: {} },
  ])
})

test("OpenAI's stored items are sent back as references", async () => {
  const { sim, openai } = await simulate([first, 'Done.'])
  const model = fromAISDK(openai.responses('gpt-5'), { tools: { web_search: openai.tools.webSearch() } })
  await agent({ model, tools: [look] }).run('Go.')
  expect(sentBack(sim).map(({ type }) => type)).toEqual([
    'item_reference',
    'item_reference',
    'item_reference',
    'item_reference',
    'function_call',
    'function_call_output',
  ])
})

test("OpenAI's items that are not stored are sent back with encrypted reasoning", async () => {
  const { sim, openai } = await simulate([first, 'Done.'])
  const model = fromAISDK(openai.responses('gpt-5'), {
    tools: { web_search: openai.tools.webSearch() },
    extra: { openai: { store: false } },
  })
  await agent({ model, tools: [look] }).run('Go.')
  expect(sentBack(sim)).toMatchObject([
    {
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'Let me think.' }],
      encrypted_content: expect.any(String),
    },
    { type: 'reasoning', summary: [], encrypted_content: expect.any(String) },
    { type: 'web_search_call', action: { type: 'search', query: 'q' } },
    { role: 'assistant', content: 'I see. ' },
    { type: 'function_call', name: 'look' },
    { type: 'function_call_output', output: 'seen' },
  ])
})

test('a conversation continues with another provider, without data that only the first can read', async () => {
  const { sim, openai, anthropic } = await simulate([first, 'Done.', first, 'Done again.', 'And again.'])
  const ask = (model: Parameters<typeof fromAISDK>[0]) => agent({ model: fromAISDK(model), tools: [look] })
  const started = await ask(anthropic('claude-sim')).run('Go.')
  const continued = await ask(openai.responses('gpt-5')).run([
    ...started.messages,
    { role: 'user', content: 'Once more.' },
  ])
  const returned = await ask(anthropic('claude-sim')).run([
    ...continued.messages,
    { role: 'user', content: 'And once more.' },
  ])
  expect([started.text, continued.text, returned.text]).toEqual(['Done.', 'Done again.', 'And again.'])
  const openaiBody = JSON.stringify(sim.requests[2]?.body)
  expect(openaiBody).toContain('I see. ')
  for (const foreign of ['Let me think.', 'web_search', 'sealed']) expect(openaiBody).not.toContain(foreign)
  const anthropicBody = JSON.stringify(sim.requests[4]?.body)
  for (const own of ['thinking', 'server_tool_use', 'sealed']) expect(anthropicBody).toContain(own)
  expect(anthropicBody).not.toContain('rs_')
})
