import OpenAI from 'openai'
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems'
import type { BenchTool, Client, Listener, Session, Setting } from '../contract.ts'

type ChatMessage = OpenAI.ChatCompletionMessageParam
type ChatCall = OpenAI.ChatCompletionMessageFunctionToolCall
type InputItem = OpenAI.Responses.ResponseInputItem

function runCall(tools: readonly BenchTool[], name: string, json: string): string | Promise<string> {
  const tool = tools.find((candidate) => candidate.name === name)
  if (tool === undefined) throw new Error(`the model called the unknown tool ${name}`)
  return tool.run(tool.schema.parse(JSON.parse(json)))
}

/** The raw stream of chunks. Tool calls are assembled by hand, as in the package's examples. */
function chatSession(openai: OpenAI, { model, tools, maxRounds }: Setting): Session {
  const declared = tools.map(({ name, description, jsonSchema }) => ({
    type: 'function' as const,
    function: { name, description, parameters: { ...jsonSchema } },
  }))

  return {
    async answer(prompt, listener) {
      const messages: ChatMessage[] = [{ role: 'user', content: prompt }]
      const stream = await openai.chat.completions.create({ model, messages, stream: true })
      for await (const chunk of stream) {
        const content = chunk.choices[0]?.delta.content
        if (content) listener.text(content)
      }
    },

    async loop(prompt, listener) {
      const messages: ChatMessage[] = [{ role: 'user', content: prompt }]
      for (let round = 0; round < maxRounds; round++) {
        const stream = await openai.chat.completions.create({
          model,
          messages,
          tools: declared,
          stream: true,
        })
        let text = ''
        const calls: ChatCall[] = []
        for await (const chunk of stream) {
          const delta = chunk.choices[0]?.delta
          if (delta?.content) {
            text += delta.content
            listener.text(delta.content)
          }
          for (const piece of delta?.tool_calls ?? []) {
            let call = calls[piece.index]
            if (call === undefined) {
              call = { id: '', type: 'function', function: { name: '', arguments: '' } }
              calls[piece.index] = call
            }
            if (piece.id) call.id = piece.id
            if (piece.function?.name) call.function.name += piece.function.name
            if (piece.function?.arguments) call.function.arguments += piece.function.arguments
          }
        }
        if (calls.length === 0) return
        messages.push({ role: 'assistant', content: text || null, tool_calls: calls })
        const results = await Promise.all(
          calls.map(async (call): Promise<ChatMessage> => {
            const content = await runCall(tools, call.function.name, call.function.arguments)
            return { role: 'tool', tool_call_id: call.id, content }
          }),
        )
        messages.push(...results)
      }
    },
  }
}

/** The raw stream of events. The response at its end has the tool calls. */
function responsesSession(openai: OpenAI, { model, tools, maxRounds }: Setting): Session {
  const declared = tools.map(({ name, description, jsonSchema }) => ({
    type: 'function' as const,
    name,
    description,
    parameters: { ...jsonSchema },
    strict: false,
  }))

  const round = async (input: InputItem[], listener: Listener, withTools: boolean) => {
    const params = withTools ? { model, input, tools: declared } : { model, input }
    const stream = await openai.responses.create({ ...params, stream: true })
    let response: OpenAI.Responses.Response | undefined
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') listener.text(event.delta)
      else if (event.type === 'response.completed') response = event.response
    }
    if (response === undefined) throw new Error('The stream ended without response.completed.')
    return response
  }

  return {
    async answer(prompt, listener) {
      await round([{ role: 'user', content: prompt }], listener, false)
    },

    async loop(prompt, listener) {
      const input: InputItem[] = [{ role: 'user', content: prompt }]
      for (let count = 0; count < maxRounds; count++) {
        const { output } = await round(input, listener, true)
        const calls = output.filter((item) => item.type === 'function_call')
        if (calls.length === 0) return
        input.push(...toResponseInputItems(output))
        const results = await Promise.all(
          calls.map(async (call): Promise<InputItem> => {
            const result = await runCall(tools, call.name, call.arguments)
            return { type: 'function_call_output', call_id: call.call_id, output: result }
          }),
        )
        input.push(...results)
      }
    },
  }
}

const client: Client = {
  label: 'openai, raw stream',
  packages: ['openai'],
  wires: ['chat', 'responses'],
  imports: `export { default } from 'openai'`,
  without: {
    partials: 'the raw stream emits pieces of JSON text; the package does not parse unfinished JSON',
  },

  open(setting) {
    const openai = new OpenAI({ baseURL: setting.baseURL, apiKey: 'none', maxRetries: 0 })
    return setting.wire === 'chat' ? chatSession(openai, setting) : responsesSession(openai, setting)
  },
}

export default client
