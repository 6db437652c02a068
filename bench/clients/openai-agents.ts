import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import type { BenchTool, Client, Listener } from '../contract.ts'

const toolOf = ({ name, description, schema, run }: BenchTool) =>
  tool({ name, description, parameters: schema, execute: (input) => run(input) })

const withoutPartials =
  'the arguments of a tool call appear only in raw provider events, as text; the package does not parse unfinished JSON'

const client: Client = {
  label: 'OpenAI Agents SDK',
  packages: ['@openai/agents', 'openai'],
  wires: ['chat', 'responses'],
  imports: "export { Agent, run, tool } from '@openai/agents'",
  without: { partials: withoutPartials },

  open({ wire, baseURL, model, tools, maxRounds }) {
    setTracingDisabled(true)
    const openAIClient = new OpenAI({ apiKey: 'none', baseURL, maxRetries: 0 })
    const modelProvider = new OpenAIProvider({ openAIClient, useResponses: wire === 'responses' })
    const runner = new Runner({ modelProvider })
    const plain = new Agent({ name: 'Assistant', model })
    const equipped = new Agent({ name: 'Assistant', model, tools: tools.map(toolOf) })

    async function read(agent: typeof plain, prompt: string, listener: Listener) {
      const stream = await runner.run(agent, prompt, { stream: true, maxTurns: maxRounds })
      for await (const event of stream) {
        if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') {
          listener.text(event.data.delta)
        }
      }
      await stream.completed
    }

    return {
      answer: (prompt, listener) => read(plain, prompt, listener),
      loop: (prompt, listener) => read(equipped, prompt, listener),
    }
  },
}

export default client
