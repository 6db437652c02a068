import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { isStepCount, parsePartialJson, streamText, tool } from 'ai'
import type { Client, Listener, Setting } from '../contract.ts'

const apiKey = 'none'

function languageModel({ wire, baseURL, model }: Setting) {
  if (wire === 'messages') return createAnthropic({ baseURL, apiKey })(model)
  const openai = createOpenAI({ baseURL, apiKey })
  return wire === 'chat' ? openai.chat(model) : openai.responses(model)
}

/** The length of `content` in partial arguments. */
function contentLength(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('content' in value)) return undefined
  return typeof value.content === 'string' ? value.content.length : undefined
}

const client: Client = {
  label: 'AI SDK',
  packages: ['ai', '@ai-sdk/openai', '@ai-sdk/anthropic'],
  wires: ['chat', 'responses', 'messages'],
  imports: `export { isStepCount, streamText, tool } from 'ai'\nexport { createOpenAI } from '@ai-sdk/openai'`,

  open(setting) {
    const common = {
      model: languageModel(setting),
      maxRetries: 0,
      telemetry: { isEnabled: false },
      // Required by the Messages wire. Without it, the package warns about an unknown model.
      ...(setting.wire === 'messages' && { maxOutputTokens: 8192 }),
    }
    const tools = Object.fromEntries(
      setting.tools.map(({ name, description, schema, run }) => [
        name,
        tool({ description, inputSchema: schema, execute: (input) => run(input) }),
      ]),
    )
    const stopWhen = isStepCount(setting.maxRounds)

    return {
      async answer(prompt, listener) {
        for await (const part of streamText({ ...common, prompt }).stream) {
          if (part.type === 'text-delta') listener.text(part.text)
          else if (part.type === 'error') throw part.error
        }
      },

      async loop(prompt, listener) {
        for await (const part of streamText({ ...common, prompt, tools, stopWhen }).stream) {
          if (part.type === 'text-delta') listener.text(part.text)
          else if (part.type === 'error') throw part.error
        }
      },

      // What the package's UI reader does with each delta of a tool call: it parses everything so
      // far.
      async partials(prompt: string, listener: Listener) {
        const inputs = new Map<string, string>()
        for await (const part of streamText({ ...common, prompt, tools, stopWhen }).stream) {
          if (part.type === 'tool-input-delta') {
            const text = (inputs.get(part.id) ?? '') + part.delta
            inputs.set(part.id, text)
            const length = contentLength((await parsePartialJson(text)).value)
            if (length !== undefined) listener.partial(length)
          } else if (part.type === 'text-delta') listener.text(part.text)
          else if (part.type === 'error') throw part.error
        }
      },
    }
  },
}

export default client
