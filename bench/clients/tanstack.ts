import {
  chat,
  createModel,
  extendAdapter,
  maxIterations,
  parsePartialJSON,
  toolDefinition,
} from '@tanstack/ai'
import { createAnthropicChat } from '@tanstack/ai-anthropic'
import { createOpenaiChat, createOpenaiChatCompletions } from '@tanstack/ai-openai'
import type { BenchTool, Client, Listener, Setting } from '../contract.ts'

function adapterFor({ wire, baseURL, model }: Setting) {
  const models = [createModel(model, ['text'])]
  const options = { baseURL, maxRetries: 0 }
  switch (wire) {
    case 'chat':
      return extendAdapter(createOpenaiChatCompletions, models)(model, 'none', options)
    case 'responses':
      return extendAdapter(createOpenaiChat, models)(model, 'none', options)
    case 'messages':
      // Anthropic's SDK adds `/v1` itself.
      return extendAdapter(createAnthropicChat, models)(model, 'none', {
        ...options,
        baseURL: baseURL.replace(/\/v1$/, ''),
      })
  }
}

const toolOf = ({ name, description, schema, run }: BenchTool) =>
  toolDefinition({ name, description, inputSchema: schema }).server((input) => run(input))

const client: Client = {
  label: 'TanStack AI',
  packages: ['@tanstack/ai', '@tanstack/ai-openai', '@tanstack/ai-anthropic'],
  wires: ['chat', 'responses', 'messages'],
  imports: [
    "export { chat, maxIterations, toolDefinition } from '@tanstack/ai'",
    "export { openaiText } from '@tanstack/ai-openai'",
  ].join('\n'),

  open(setting) {
    const adapter = adapterFor(setting)
    const tools = setting.tools.map(toolOf)
    const agentLoopStrategy = maxIterations(setting.maxRounds)

    const start = (prompt: string, withTools: boolean) => {
      const messages = [{ role: 'user' as const, content: prompt }]
      return withTools ? chat({ adapter, messages, tools, agentLoopStrategy }) : chat({ adapter, messages })
    }

    async function read(prompt: string, withTools: boolean, listener: Listener) {
      for await (const chunk of start(prompt, withTools)) {
        if (chunk.type === 'TEXT_MESSAGE_CONTENT') listener.text(chunk.delta)
        else if (chunk.type === 'RUN_ERROR') throw new Error(chunk.message)
      }
    }

    async function partials(prompt: string, listener: Listener) {
      let json = ''
      for await (const chunk of start(prompt, true)) {
        if (chunk.type === 'TEXT_MESSAGE_CONTENT') listener.text(chunk.delta)
        else if (chunk.type === 'RUN_ERROR') throw new Error(chunk.message)
        else if (chunk.type === 'TOOL_CALL_START') json = ''
        else if (chunk.type === 'TOOL_CALL_ARGS') {
          json += chunk.delta
          const content = parsePartialJSON(json)?.content
          if (typeof content === 'string') listener.partial(content.length)
        }
      }
    }

    return {
      answer: (prompt, listener) => read(prompt, false, listener),
      loop: (prompt, listener) => read(prompt, true, listener),
      partials,
    }
  },
}

export default client
