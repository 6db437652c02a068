import { Agent, type AgentTool } from '@earendil-works/pi-agent-core'
import {
  type Api,
  type AssistantMessageEvent,
  createModels,
  createProvider,
  type Model,
  type SimpleStreamOptions,
  Type,
} from '@earendil-works/pi-ai'
import { anthropicMessagesApi } from '@earendil-works/pi-ai/api/anthropic-messages.lazy'
import { openAICompletionsApi } from '@earendil-works/pi-ai/api/openai-completions.lazy'
import { openAIResponsesApi } from '@earendil-works/pi-ai/api/openai-responses.lazy'
import type { BenchTool, Client, Listener, Setting, Wire } from '../contract.ts'

const apis: Record<Wire, Api> = {
  chat: 'openai-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
}

// A provider for a custom server, as in its README.
function modelsFor({ wire, baseURL, model: id }: Setting) {
  const model: Model<Api> = {
    id,
    name: id,
    api: apis[wire],
    provider: 'bench',
    // Anthropic's SDK adds `/v1` itself.
    baseUrl: wire === 'messages' ? baseURL.replace(/\/v1$/, '') : baseURL,
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 1_000_000,
    maxTokens: 100_000,
  }
  const models = createModels()
  models.setProvider(
    createProvider({
      id: 'bench',
      auth: { apiKey: { name: 'Bench', resolve: async () => ({ auth: { apiKey: 'none' } }) } },
      models: [model],
      api: {
        'openai-completions': openAICompletionsApi(),
        'openai-responses': openAIResponsesApi(),
        'anthropic-messages': anthropicMessagesApi(),
      },
    }),
  )
  return { models, model }
}

const toolOf = ({ name, description, jsonSchema, run }: BenchTool): AgentTool => ({
  name,
  label: name,
  description,
  parameters: Type.Unsafe<Record<string, unknown>>({ ...jsonSchema }),
  execute: async (_id, params) => {
    const text = await run(params as Record<string, unknown>)
    return { content: [{ type: 'text', text }], details: {} }
  },
})

function reportPartial(event: AssistantMessageEvent, listener: Listener) {
  if (event.type !== 'toolcall_delta') return
  const call = event.partial.content[event.contentIndex]
  const content: unknown = call?.type === 'toolCall' ? call.arguments.content : undefined
  if (typeof content === 'string') listener.partial(content.length)
}

const client: Client = {
  label: 'pi',
  packages: ['@earendil-works/pi-ai', '@earendil-works/pi-agent-core'],
  wires: ['chat', 'responses', 'messages'],
  imports: [
    "export { Agent } from '@earendil-works/pi-agent-core'",
    "export { createModels } from '@earendil-works/pi-ai'",
    "export { openaiProvider } from '@earendil-works/pi-ai/providers/openai'",
  ].join('\n'),

  open(setting) {
    const { models, model } = modelsFor(setting)
    const tools = setting.tools.map(toolOf)

    async function answer(prompt: string, listener: Listener) {
      const messages = [{ role: 'user' as const, content: prompt, timestamp: Date.now() }]
      for await (const event of models.stream(model, { messages }, { maxRetries: 0 })) {
        if (event.type === 'text_delta') listener.text(event.delta)
        else if (event.type === 'error') throw new Error(event.error.errorMessage)
      }
    }

    // An Agent is one conversation, so each loop has its own.
    async function loop(prompt: string, listener: Listener, partials = false) {
      const agent = new Agent({
        initialState: { model, tools },
        streamFn: (m, context, options?: SimpleStreamOptions) =>
          models.streamSimple(m, context, { ...options, maxRetries: 0 }),
      })
      agent.subscribe((event) => {
        if (event.type !== 'message_update') return
        const update = event.assistantMessageEvent
        if (update.type === 'text_delta') listener.text(update.delta)
        if (partials) reportPartial(update, listener)
      })
      await agent.prompt(prompt)
      if (agent.state.errorMessage) throw new Error(agent.state.errorMessage)
    }

    return { answer, loop, partials: (prompt, listener) => loop(prompt, listener, true) }
  },
}

export default client
