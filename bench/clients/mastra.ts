import { createAnthropic } from '@ai-sdk/anthropic'
import { Agent } from '@mastra/core/agent'
import type { MastraModelConfig } from '@mastra/core/llm'
import { createTool } from '@mastra/core/tools'
import type { BenchTool, Client, Listener, Setting } from '../contract.ts'

// Its model router, except for Messages, which the router supports only at Anthropic's address.
function modelFor({ wire, baseURL, model }: Setting): MastraModelConfig {
  if (wire !== 'messages') {
    return { providerId: 'openai', modelId: model, url: baseURL, apiKey: 'none', api: wire }
  }
  // The types it was built with lack one finish reason of this newer provider.
  return createAnthropic({ apiKey: 'none', baseURL })(model) as MastraModelConfig
}

const toolOf = ({ name, description, schema, run }: BenchTool) =>
  createTool({ id: name, description, inputSchema: schema, execute: async (input) => run(input) })

const client: Client = {
  label: 'Mastra',
  packages: ['@mastra/core', '@ai-sdk/anthropic'],
  wires: ['chat', 'responses', 'messages'],
  imports: [
    "export { Agent } from '@mastra/core/agent'",
    "export { createTool } from '@mastra/core/tools'",
  ].join('\n'),
  without: {
    partials:
      'its chunks have the arguments of a tool call as text; the package does not parse unfinished JSON',
  },

  open(setting) {
    process.env.MASTRA_TELEMETRY_DISABLED = '1'
    const about = { name: 'Assistant', instructions: '', model: modelFor(setting), maxRetries: 0 }
    const plain = new Agent({ id: 'plain', ...about })
    const tools = Object.fromEntries(setting.tools.map((each) => [each.name, toolOf(each)]))
    const equipped = new Agent({ id: 'equipped', ...about, tools })

    async function read(agent: Pick<typeof plain, 'stream'>, prompt: string, listener: Listener) {
      const { fullStream } = await agent.stream(prompt, { maxSteps: setting.maxRounds })
      for await (const chunk of fullStream) {
        if (chunk.type === 'text-delta') listener.text(chunk.payload.text)
        else if (chunk.type === 'error') throw chunk.payload.error
      }
    }

    return {
      answer: (prompt, listener) => read(plain, prompt, listener),
      loop: (prompt, listener) => read(equipped, prompt, listener),
    }
  },
}

export default client
