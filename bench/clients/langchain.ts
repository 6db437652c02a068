import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { ChatModelStreamEvent } from '@langchain/core/language_models/event'
import { parsePartialJson } from '@langchain/core/output_parsers'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import type { BenchTool, Client, Listener, Setting } from '../contract.ts'

function modelFor({ wire, baseURL, model }: Setting): BaseChatModel {
  const options = { model, apiKey: 'none', maxRetries: 0 }
  return wire === 'messages'
    ? // Anthropic's SDK adds `/v1` itself.
      new ChatAnthropic({ ...options, anthropicApiUrl: baseURL.replace(/\/v1$/, '') })
    : new ChatOpenAI({ ...options, configuration: { baseURL }, useResponsesApi: wire === 'responses' })
}

const toolOf = ({ name, description, schema, run }: BenchTool) =>
  tool((input) => run(input), { name, description, schema })

function reportText(event: ChatModelStreamEvent, listener: Listener) {
  if (event.event === 'content-block-delta' && event.delta.type === 'text-delta') {
    listener.text(event.delta.text)
  }
}

// The event carries the arguments so far, as text.
function reportPartial(event: ChatModelStreamEvent, listener: Listener) {
  if (event.event !== 'content-block-delta' || event.delta.type !== 'block-delta') return
  const { type, args } = event.delta.fields
  if (type !== 'tool_call_chunk' || typeof args !== 'string') return
  const content = parsePartialJson(args)?.content
  if (typeof content === 'string') listener.partial(content.length)
}

const client: Client = {
  label: 'LangChain',
  packages: ['langchain', '@langchain/core', '@langchain/openai', '@langchain/anthropic'],
  wires: ['chat', 'responses', 'messages'],
  imports: [
    "export { createAgent, tool } from 'langchain'",
    "export { ChatOpenAI } from '@langchain/openai'",
  ].join('\n'),

  open(setting) {
    const model = modelFor(setting)
    const agent = createAgent({ model, tools: setting.tools.map(toolOf) })
    // A round is one step of the model and one of the tools.
    const recursionLimit = 2 * setting.maxRounds + 1

    async function answer(prompt: string, listener: Listener) {
      for await (const event of model.streamEvents(prompt)) reportText(event, listener)
    }

    // Its event streaming (`v3`), which the documentation recommends over `stream` with modes. The
    // latter costs a little less in a short loop, but parses all arguments of a tool call again at
    // each chunk.
    async function loop(prompt: string, listener: Listener, partials = false) {
      const run = await agent.streamEvents(
        { messages: [{ role: 'user', content: prompt }] },
        { version: 'v3', recursionLimit },
      )
      async function readMessages() {
        for await (const message of run.messages) {
          for await (const event of message) {
            reportText(event, listener)
            if (partials) reportPartial(event, listener)
          }
        }
      }
      async function readToolCalls() {
        for await (const call of run.toolCalls) await call.output
      }
      await Promise.all([readMessages(), readToolCalls(), run.output])
    }

    return { answer, loop, partials: (prompt, listener) => loop(prompt, listener, true) }
  },
}

export default client
