import type { JsonObject, JsonValue, Message, ToolCallPart } from 'millrace'

/** What a model can know: what was said, and which tools there are. */
export interface Conversation {
  readonly messages: readonly Message[]
  readonly tools: readonly string[]
}

/** Chat Completions as it comes over the wire: as much of it as a script makes use of. */
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

/** Reads a request that the simulator has already checked. */
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

/** The tools of the desk give JSON; what is none went wrong, and says why. */
function resultOf(text: string) {
  try {
    return { type: 'json', value: JSON.parse(text) as JsonValue } as const
  } catch {
    return { type: 'text', text } as const
  }
}
