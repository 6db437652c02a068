import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { isStepCount, jsonSchema, type LanguageModel, streamText, tool } from 'ai'
import type { JsonObject } from 'millrace'
import OpenAI from 'openai'
import type { ProviderSimulator } from './provider-simulator.ts'
import type { SimulatorScenario } from './simulator.test-kit.ts'
import type { Wire } from './wire.ts'

/** The result of a client for a scenario, with its own finish reason. */
interface ClientOutcome {
  text: string
  reasoning: string
  refusal: string
  calls: { name: string; input: unknown }[]
  finish: string
  usage: { inputTokens: number; outputTokens: number }
}

type Client = (sim: ProviderSimulator, scenario: SimulatorScenario) => Promise<ClientOutcome>

const schema = { type: 'object' as const, properties: {}, additionalProperties: true }
const emptyOutcome = (): ClientOutcome => ({
  text: '',
  reasoning: '',
  refusal: '',
  calls: [],
  finish: '',
  usage: { inputTokens: 0, outputTokens: 0 },
})
const openaiOf = ({ baseURL }: ProviderSimulator) => new OpenAI({ baseURL, apiKey: 'sk-test', maxRetries: 0 })
const anthropicOf = ({ url }: ProviderSimulator) =>
  new Anthropic({ baseURL: url, apiKey: 'sk-test', authToken: null, maxRetries: 0 })
const resultOf = ({ tools }: SimulatorScenario, name: string) => JSON.stringify(tools[name] ?? null)

const chatTools = (tools: SimulatorScenario['tools']): Partial<OpenAI.ChatCompletionCreateParams> => {
  const list = Object.keys(tools).map((name) => ({
    type: 'function' as const,
    function: { name, parameters: schema },
  }))
  return list.length > 0 ? { tools: list } : {}
}

function chatClient(
  ask: (
    client: OpenAI,
    params: OpenAI.ChatCompletionCreateParamsNonStreaming,
  ) => Promise<OpenAI.ChatCompletion>,
): Client {
  return async (sim, scenario) => {
    const outcome = emptyOutcome()
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: scenario.prompt }]
    for (;;) {
      const { choices, usage } = await ask(openaiOf(sim), {
        model: 'm',
        messages,
        ...chatTools(scenario.tools),
      } as never)
      const [choice] = choices
      if (!choice) throw new Error('no choice')
      const { message } = choice
      outcome.text = message.content ?? ''
      outcome.refusal = message.refusal ?? ''
      outcome.finish = choice.finish_reason
      outcome.reasoning += (message as { reasoning_content?: string }).reasoning_content ?? ''
      outcome.usage.inputTokens += usage?.prompt_tokens ?? 0
      outcome.usage.outputTokens += usage?.completion_tokens ?? 0
      if (!message.tool_calls?.length) return outcome
      messages.push({ role: 'assistant', content: message.content, tool_calls: message.tool_calls })
      for (const call of message.tool_calls) {
        if (call.type !== 'function') continue
        outcome.calls.push({ name: call.function.name, input: JSON.parse(call.function.arguments) })
        messages.push({
          role: 'tool',
          tool_call_id: call.id,
          content: resultOf(scenario, call.function.name),
        })
      }
    }
  }
}

const runTools: Client = async (sim, scenario) => {
  const outcome = emptyOutcome()
  const runner = openaiOf(sim).chat.completions.runTools({
    model: 'm',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: scenario.prompt }],
    tools: Object.keys(scenario.tools).map((name) => ({
      type: 'function' as const,
      function: {
        name,
        description: name,
        parameters: schema,
        parse: JSON.parse,
        function: (input: object) => {
          outcome.calls.push({ name, input })
          return resultOf(scenario, name)
        },
      },
    })),
  })
  for await (const chunk of runner) {
    const delta = chunk.choices[0]?.delta as { reasoning_content?: string } | undefined
    outcome.reasoning += delta?.reasoning_content ?? ''
    outcome.finish = chunk.choices[0]?.finish_reason ?? outcome.finish
  }
  const message = await runner.finalMessage()
  const { prompt_tokens, completion_tokens } = await runner.totalUsage()
  outcome.usage = { inputTokens: prompt_tokens, outputTokens: completion_tokens }
  return { ...outcome, text: message.content ?? '', refusal: message.refusal ?? '' }
}

function responsesClient(
  ask: (
    client: OpenAI,
    params: OpenAI.Responses.ResponseCreateParamsNonStreaming,
  ) => Promise<OpenAI.Responses.Response>,
): Client {
  return async (sim, scenario) => {
    const outcome = emptyOutcome()
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: scenario.prompt }]
    const tools = Object.keys(scenario.tools).map((name) => ({
      type: 'function' as const,
      name,
      parameters: schema,
      strict: false,
    }))
    for (;;) {
      const response = await ask(openaiOf(sim), {
        model: 'm',
        input,
        store: false,
        include: ['reasoning.encrypted_content'],
        ...(tools.length > 0 && { tools }),
      })
      outcome.text = response.output_text
      outcome.finish = response.incomplete_details?.reason ?? response.status ?? ''
      outcome.usage.inputTokens += response.usage?.input_tokens ?? 0
      outcome.usage.outputTokens += response.usage?.output_tokens ?? 0
      const calls = response.output.filter((item) => item.type === 'function_call')
      for (const item of response.output) {
        input.push(item as OpenAI.Responses.ResponseInputItem)
        if (item.type === 'reasoning') outcome.reasoning += item.summary.map(({ text }) => text).join('')
        if (item.type === 'message')
          for (const part of item.content) if (part.type === 'refusal') outcome.refusal += part.refusal
      }
      if (calls.length === 0) return outcome
      for (const { call_id, name, arguments: args } of calls) {
        outcome.calls.push({ name, input: JSON.parse(args) })
        input.push({ type: 'function_call_output', call_id, output: resultOf(scenario, name) })
      }
    }
  }
}

function messagesClient(
  ask: (client: Anthropic, params: Anthropic.MessageCreateParamsNonStreaming) => Promise<Anthropic.Message>,
): Client {
  return async (sim, scenario) => {
    const outcome = emptyOutcome()
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: scenario.prompt }]
    const tools = Object.keys(scenario.tools).map((name) => ({ name, input_schema: schema }))
    for (;;) {
      const { content, usage, stop_reason } = await ask(anthropicOf(sim), {
        model: 'm',
        max_tokens: 4096,
        thinking: { type: 'enabled', budget_tokens: 1024 },
        messages,
        ...(tools.length > 0 && { tools }),
      })
      outcome.text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      outcome.finish = stop_reason ?? ''
      outcome.usage.inputTokens +=
        usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
      outcome.usage.outputTokens += usage.output_tokens
      outcome.reasoning += content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('')
      const calls = content.filter((block) => block.type === 'tool_use')
      if (calls.length === 0) return outcome
      messages.push({ role: 'assistant', content: content as Anthropic.ContentBlockParam[] })
      const results = calls.map(({ id, name, input }) => {
        outcome.calls.push({ name, input })
        return { type: 'tool_result' as const, tool_use_id: id, content: resultOf(scenario, name) }
      })
      messages.push({ role: 'user', content: results })
    }
  }
}

/** Folds the raw events as the API reference describes. */
async function foldRaw(events: AsyncIterable<Anthropic.RawMessageStreamEvent>): Promise<Anthropic.Message> {
  let message: Anthropic.Message | undefined
  const json: string[] = []
  for await (const event of events) {
    if (event.type === 'message_start') message = event.message
    if (!message) throw new Error('an event before message_start')
    if (event.type === 'content_block_start') message.content[event.index] = event.content_block
    if (event.type === 'content_block_delta') {
      const block = message.content[event.index] as unknown as Record<string, string>
      const { delta } = event
      if (delta.type === 'text_delta') block.text += delta.text
      if (delta.type === 'thinking_delta') block.thinking += delta.thinking
      if (delta.type === 'signature_delta') block.signature = delta.signature
      if (delta.type === 'input_json_delta')
        json[event.index] = (json[event.index] ?? '') + delta.partial_json
    }
    if (event.type === 'message_delta') {
      Object.assign(message, event.delta)
      Object.assign(message.usage, event.usage)
    }
  }
  if (!message) throw new Error('no message')
  for (const [index, block] of message.content.entries())
    if (block.type === 'tool_use') block.input = JSON.parse(json[index] || '{}')
  return message
}

function aiClient(
  modelOf: (sim: ProviderSimulator) => LanguageModel,
  providerOptions: Record<string, JsonObject> = {},
): Client {
  return async (sim, scenario) => {
    const outcome = emptyOutcome()
    const tools = Object.keys(scenario.tools).map((name) => [
      name,
      tool({
        description: name,
        inputSchema: jsonSchema(schema),
        execute: async (input) => {
          outcome.calls.push({ name, input })
          return scenario.tools[name]
        },
      }),
    ])
    const errors: unknown[] = []
    const result = streamText({
      model: modelOf(sim),
      prompt: scenario.prompt,
      tools: Object.fromEntries(tools),
      stopWhen: isStepCount(5),
      maxRetries: 0,
      providerOptions: providerOptions as never,
      onError: ({ error }) => {
        errors.push(error)
      },
    })
    for await (const part of result.fullStream)
      if (part.type === 'reasoning-delta') outcome.reasoning += part.text
    if (errors.length > 0) throw errors[0]
    const { inputTokens = 0, outputTokens = 0 } = await result.totalUsage
    outcome.usage = { inputTokens, outputTokens }
    return { ...outcome, text: await result.text, finish: (await result.finishReason) as string }
  }
}

export const clients: readonly { readonly name: string; readonly wire: Wire; readonly run: Client }[] = [
  {
    name: 'openai chat.completions.stream',
    wire: 'openai-chat',
    run: chatClient(async (client, params) =>
      client.chat.completions
        .stream({ ...params, stream_options: { include_usage: true } } as never)
        .finalChatCompletion(),
    ),
  },
  {
    name: 'openai chat.completions.create',
    wire: 'openai-chat',
    run: chatClient(async (client, params) => client.chat.completions.create(params)),
  },
  { name: 'openai runTools', wire: 'openai-chat', run: runTools },
  {
    name: 'openai responses.stream',
    wire: 'openai-responses',
    run: responsesClient(async (client, params) => client.responses.stream(params as never).finalResponse()),
  },
  {
    name: 'openai responses.create',
    wire: 'openai-responses',
    run: responsesClient(async (client, params) => client.responses.create(params)),
  },
  {
    name: '@anthropic-ai/sdk messages.stream',
    wire: 'anthropic',
    run: messagesClient(async (client, params) => client.messages.stream(params).finalMessage()),
  },
  {
    name: '@anthropic-ai/sdk messages.create({ stream: true })',
    wire: 'anthropic',
    run: messagesClient(async (client, params) =>
      foldRaw(await client.messages.create({ ...params, stream: true })),
    ),
  },
  {
    name: '@anthropic-ai/sdk messages.create',
    wire: 'anthropic',
    run: messagesClient(async (client, params) => client.messages.create(params)),
  },
  {
    name: 'ai over @ai-sdk/openai chat',
    wire: 'openai-chat',
    run: aiClient(({ baseURL }) => createOpenAI({ baseURL, apiKey: 'sk-test' }).chat('m')),
  },
  {
    name: 'ai over @ai-sdk/openai responses',
    wire: 'openai-responses',
    run: aiClient(({ baseURL }) => createOpenAI({ baseURL, apiKey: 'sk-test' }).responses('gpt-5')),
  },
  {
    name: 'ai over @ai-sdk/openai responses, nothing stored',
    wire: 'openai-responses',
    run: aiClient(({ baseURL }) => createOpenAI({ baseURL, apiKey: 'sk-test' }).responses('gpt-5'), {
      openai: { store: false, include: ['reasoning.encrypted_content'] },
    }),
  },
  {
    name: 'ai over @ai-sdk/anthropic',
    wire: 'anthropic',
    run: aiClient(({ baseURL }) => createAnthropic({ baseURL, apiKey: 'sk-test' })('claude-sonnet-4-5'), {
      anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } },
    }),
  },
]
