import Anthropic from '@anthropic-ai/sdk'
import type { Client } from '../contract.ts'

type Message = Anthropic.MessageParam
type Block = Anthropic.TextBlockParam | Anthropic.ToolUseBlockParam

/** The package adds `/v1` itself. */
const withoutVersion = (baseURL: string) => baseURL.replace(/\/v1$/, '')

const client: Client = {
  label: 'Anthropic SDK, raw stream',
  packages: ['@anthropic-ai/sdk'],
  wires: ['messages'],
  imports: `export { default } from '@anthropic-ai/sdk'`,
  without: {
    partials: 'the raw stream emits pieces of JSON text; the package does not parse unfinished JSON',
  },

  open({ baseURL, model, tools, maxRounds }) {
    const anthropic = new Anthropic({
      baseURL: withoutVersion(baseURL),
      apiKey: 'none',
      maxRetries: 0,
      openTelemetry: false,
    })
    const common = { model, max_tokens: 8192, stream: true as const }
    const declared = tools.map(({ name, description, jsonSchema }) => ({
      name,
      description,
      input_schema: { ...jsonSchema, type: 'object' as const },
    }))

    const result = async (call: Anthropic.ToolUseBlockParam): Promise<Anthropic.ToolResultBlockParam> => {
      const tool = tools.find(({ name }) => name === call.name)
      if (tool === undefined) throw new Error(`the model called the unknown tool ${call.name}`)
      const content = await tool.run(tool.schema.parse(call.input))
      return { type: 'tool_result', tool_use_id: call.id, content }
    }

    return {
      async answer(prompt, listener) {
        const messages: Message[] = [{ role: 'user', content: prompt }]
        for await (const event of await anthropic.messages.create({ ...common, messages })) {
          if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
            listener.text(event.delta.text)
          }
        }
      },

      async loop(prompt, listener) {
        const messages: Message[] = [{ role: 'user', content: prompt }]
        for (let round = 0; round < maxRounds; round++) {
          const stream = await anthropic.messages.create({ ...common, messages, tools: declared })
          const content: Block[] = []
          let json = ''
          for await (const event of stream) {
            if (event.type === 'content_block_start') {
              const block = event.content_block
              json = ''
              if (block.type === 'text') content.push({ type: 'text', text: block.text })
              else if (block.type === 'tool_use') {
                content.push({ type: 'tool_use', id: block.id, name: block.name, input: block.input })
              }
            } else if (event.type === 'content_block_delta') {
              const last = content.at(-1)
              if (event.delta.type === 'text_delta') {
                if (last?.type === 'text') last.text += event.delta.text
                listener.text(event.delta.text)
              } else if (event.delta.type === 'input_json_delta') json += event.delta.partial_json
            } else if (event.type === 'content_block_stop') {
              const last = content.at(-1)
              if (last?.type === 'tool_use' && json !== '') last.input = JSON.parse(json)
            }
          }
          const calls = content.filter((block) => block.type === 'tool_use')
          if (calls.length === 0) return
          messages.push({ role: 'assistant', content })
          messages.push({ role: 'user', content: await Promise.all(calls.map(result)) })
        }
      },
    }
  },
}

export default client
