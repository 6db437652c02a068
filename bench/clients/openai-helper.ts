import OpenAI from 'openai'
import { ResponsesToolRunner, runnerFunction } from 'openai/helpers/responses-tool-runner'
import { zodFunction, zodResponsesFunction } from 'openai/helpers/zod'
import type { Client, Listener, Session, Setting } from '../contract.ts'

/** The length of `content` in partial arguments. */
function contentLength(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('content' in value)) return undefined
  return typeof value.content === 'string' ? value.content.length : undefined
}

/** `chat.completions.stream` for an answer, `runTools` for a loop. */
function chatSession(openai: OpenAI, { model, tools, maxRounds }: Setting): Session {
  const runnable = tools.map(({ name, description, jsonSchema, run }) => ({
    type: 'function' as const,
    function: {
      name,
      description,
      parameters: { ...jsonSchema },
      parse: JSON.parse as (text: string) => Record<string, unknown>,
      function: (input: Record<string, unknown>) => run(input),
    },
  }))
  // Partial arguments are parsed only for tools created with the schema helper.
  const parseable = tools.map(({ name, description, schema, run }) =>
    zodFunction({ name, description, parameters: schema, function: (input) => run(input) }),
  )
  const options = { maxChatCompletions: maxRounds }

  return {
    async answer(prompt, listener) {
      const stream = openai.chat.completions.stream({ model, messages: [{ role: 'user', content: prompt }] })
      stream.on('chunk', (chunk) => {
        const content = chunk.choices[0]?.delta.content
        if (content) listener.text(content)
      })
      await stream.done()
    },

    async loop(prompt, listener) {
      const runner = openai.chat.completions.runTools(
        { model, messages: [{ role: 'user', content: prompt }], tools: runnable, stream: true },
        options,
      )
      runner.on('chunk', (chunk) => {
        const content = chunk.choices[0]?.delta.content
        if (content) listener.text(content)
      })
      await runner.done()
    },

    // Past the first KB, the package parses again only when the text has grown by half; there is no
    // value in between.
    async partials(prompt, listener) {
      const runner = openai.chat.completions.runTools(
        { model, messages: [{ role: 'user', content: prompt }], tools: parseable, stream: true },
        options,
      )
      runner.on('chunk', (chunk) => {
        const content = chunk.choices[0]?.delta.content
        if (content) listener.text(content)
      })
      runner.on('tool_calls.function.arguments.delta', (event) => {
        const length = contentLength(event.parsed_arguments)
        if (length !== undefined) listener.partial(length)
      })
      await runner.done()
    },
  }
}

/** `responses.stream` for an answer, the runner of the same package for a loop. */
function responsesSession(openai: OpenAI, { model, tools, maxRounds }: Setting, eager: boolean): Session {
  const runner = new ResponsesToolRunner({
    functions: tools.map(({ name, description, schema, run }) =>
      runnerFunction(
        zodResponsesFunction({ name, description, parameters: schema, function: (input) => run(input) }),
      ),
    ),
  })
  const readTo = (listener: Listener) => (event: OpenAI.Responses.ResponseStreamEvent) => {
    if (event.type === 'response.output_text.delta') listener.text(event.delta)
  }

  return {
    async answer(prompt, listener) {
      const stream = openai.responses.stream({ model, input: prompt })
      stream.on('event', readTo(listener))
      await stream.finalResponse()
    },

    async loop(prompt, listener) {
      await runner.run(
        openai,
        { model, input: [{ role: 'user', content: prompt }] },
        { stream: true, maxSteps: maxRounds, onEvent: readTo(listener), ...(eager && { eager }) },
      )
    },

    // No `partials`: the events of this wire have a snapshot of the JSON text, not of the values in
    // it.
  }
}

/**
 * `eager` starts tools before the round ends. Not the package's default, and only for Responses.
 */
export const openaiHelper = ({ eager }: { readonly eager: boolean }): Client => ({
  label: 'openai, helper',
  packages: ['openai'],
  wires: ['chat', 'responses'],
  imports: `export { default } from 'openai'\nexport { zodFunction } from 'openai/helpers/zod'`,

  open(setting) {
    const openai = new OpenAI({ baseURL: setting.baseURL, apiKey: 'none', maxRetries: 0 })
    return setting.wire === 'chat' ? chatSession(openai, setting) : responsesSession(openai, setting, eager)
  },
})

export default openaiHelper({ eager: false })
