import { type Agent, type AgentOptions, agent, type Model, type RunEvent, tool } from 'millrace'
import { anthropic } from 'millrace/anthropic'
import { openai, openaiChat } from 'millrace/openai'
import type { BenchTool, Client, Listener, Setting, Wire } from '../contract.ts'

const models: Record<Wire, (setting: Setting) => Model> = {
  chat: ({ model, baseURL }) => openaiChat(model, { baseURL, apiKey: 'none' }),
  responses: ({ model, baseURL }) => openai(model, { baseURL, apiKey: 'none' }),
  messages: ({ model, baseURL }) => anthropic(model, { baseURL, apiKey: 'none' }),
}

const toolOf = ({ name, description, schema, run }: BenchTool) =>
  tool({ name, description, input: schema, run })

/** Reads every event, like a program that shows all of them. */
async function read(events: AsyncIterable<RunEvent>, listener: Listener): Promise<void> {
  for await (const event of events) {
    if (event.type === 'text') listener.text(event.text)
    else if (event.type === 'run-end' && event.outcome !== 'completed')
      throw new Error(event.error?.message ?? event.outcome)
  }
}

/** `more` is passed to its agents. */
export const clientWith = (more: Pick<AgentOptions, 'telemetry' | 'prices' | 'budget'> = {}): Client => ({
  label: 'Millrace',
  packages: [],
  wires: ['chat', 'responses', 'messages'],
  imports: `export { agent, tool } from 'millrace'
export { openai } from 'millrace/openai'`,
  open(setting) {
    const { tools, maxRounds } = setting
    const common = { model: models[setting.wire](setting), maxRounds, retry: { attempts: 1 }, ...more }
    const plain = agent(common)
    const equipped = agent({ ...common, tools: tools.map(toolOf) })

    let watcher: Listener | undefined
    const watched: Agent = agent({
      ...common,
      tools: tools.map(({ name, description, schema, run }) =>
        tool({
          name,
          description,
          input: schema,
          run,
          onInput: ({ content }) => {
            if (typeof content === 'string') watcher?.partial(content.length)
          },
        }),
      ),
    })
    return {
      answer: (prompt, listener) => read(plain.stream(prompt), listener),
      loop: (prompt, listener) => read(equipped.stream(prompt), listener),
      partials(prompt, listener) {
        watcher = listener
        return read(watched.stream(prompt), listener)
      },
    }
  },
})

export default clientWith()
