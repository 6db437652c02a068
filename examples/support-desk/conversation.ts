import type { JsonObject, JsonValue, Message, ToolCallPart } from 'millrace'

/** What a model sees: the messages, and the names of its tools. */
export interface Conversation {
  readonly messages: readonly Message[]
  readonly tools: readonly string[]
}

/** The parts of a Chat Completions request that the script uses. */
interface ChatBody {
  readonly messages: readonly {
    readonly role: Message['role']
    readonly content?: string | readonly { readonly text?: string }[] | null
    readonly tool_calls?: readonly {
      readonly id: string
      readonly function: { readonly name: string; readonly arguments: string }
    }[]
    readonly tool_call_id?: string
  }[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

/** Parses a request, which the simulator has already validated. */
export function readConversation(body: JsonValue | undefined): Conversation {
  const { messages, tools = [] } = body as unknown as ChatBody
  const calls: ToolCallPart[] = []
  return {
    tools: tools.map(({ function: { name } }) => name),
    messages: messages.map(({ role, content, tool_calls = [], tool_call_id }): Message => {
      const text = typeof content === 'string' ? content : (content ?? []).map(({ text }) => text).join('')
      if (role === 'system' || role === 'user') return { role, content: text }
      if (role === 'tool') {
        const call = calls.find(({ callId }) => callId === tool_call_id)
        return { role, callId: tool_call_id ?? '', name: call?.name ?? '', content: [resultOf(text)] }
      }
      const parts = tool_calls.map(
        ({ id, function: { name, arguments: input } }): ToolCallPart => ({
          type: 'tool-call',
          callId: id,
          name,
          input: JSON.parse(input) as JsonObject,
        }),
      )
      calls.push(...parts)
      return { role, content: [{ type: 'text', text }, ...parts] }
    }),
  }
}

/** The tools return JSON. Anything else is an error message. */
function resultOf(text: string) {
  try {
    return { type: 'json', value: JSON.parse(text) as JsonValue } as const
  } catch {
    return { type: 'text', text } as const
  }
}
