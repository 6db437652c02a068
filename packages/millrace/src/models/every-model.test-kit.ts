import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { ProviderSimulatorOptions } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import type { FinishReason, JsonObject, Model, Usage } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { fromAISDK } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { fromGenerate } from './index.ts'
import { openai, openaiChat } from './openai.ts'

/** The addresses of a simulated provider. */
export interface Endpoint {
  readonly url: string
  readonly baseURL: string
}

/** Our models for each API, at a simulated provider. */
export const wires = {
  'Chat Completions': ({ baseURL }) =>
    openaiChat('gpt-4.1', { baseURL, apiKey: 'sk-test', provider: 'chat' }),
  Responses: ({ baseURL }) => openai('gpt-5.5', { baseURL, apiKey: 'sk-test', provider: 'responses' }),
  Messages: ({ url }) =>
    anthropic('claude-sonnet-4-5', { baseURL: url, apiKey: 'sk-test', reasoning: 'low' }),
} satisfies Record<string, (place: Endpoint) => Model>

export const adapters = {
  'AI SDK, Chat Completions': ({ baseURL }) =>
    fromAISDK(createOpenAI({ baseURL, apiKey: 'sk-test' }).chat('gpt-4.1')),
  'AI SDK, Responses': ({ baseURL }) =>
    fromAISDK(createOpenAI({ baseURL, apiKey: 'sk-test' }).responses('gpt-5.5')),
  'AI SDK, Messages': ({ baseURL }) =>
    fromAISDK(createAnthropic({ baseURL, apiKey: 'sk-test' })('claude-sonnet-4-5')),
} satisfies Record<string, (place: Endpoint) => Model>

/** A model that plays a script, and how to close it. */
export type Player = (
  rounds: readonly ScriptRound[],
  options?: ProviderSimulatorOptions,
) => Promise<{ readonly model: Model; close(): Promise<void> }>

const overSocket =
  (open: (place: Endpoint) => Model): Player =>
  async (rounds, options) => {
    const sim = await providerSimulator(rounds, options)
    return { model: open(sim), close: sim.close }
  }

/** The same script on every kind of model. */
export const players: Readonly<Record<string, Player>> = {
  'the scripted model': async (rounds) => ({ model: scriptedModel(rounds), close: async () => {} }),
  ...Object.fromEntries(
    Object.entries({ ...wires, ...adapters }).map(([name, open]) => [name, overSocket(open)]),
  ),
  'a function that does not stream': async (rounds) => ({
    model: generatingModel(rounds),
    close: async () => {},
  }),
}

/** A model that returns its answer in one piece. */
function generatingModel(rounds: readonly ScriptRound[]): Model {
  let next = 0
  return fromGenerate(async () => {
    const steps = rounds[next++] ?? []
    const answer = { text: '', reasoning: '', calls: [] as { name: string; input: JsonObject }[] }
    let usage: Partial<Usage> | undefined
    let finish: FinishReason | undefined
    for (const step of typeof steps === 'string' ? [{ text: steps }] : steps) {
      if ('text' in step) answer.text += step.text
      if ('reasoning' in step) answer.reasoning += step.reasoning
      if ('call' in step) answer.calls.push({ name: step.call, input: step.input ?? {} })
      if ('usage' in step) usage = step.usage
      if ('finish' in step) finish = step.finish
    }
    return { ...answer, ...(usage && { usage }), ...(finish && { finish }) }
  })
}
