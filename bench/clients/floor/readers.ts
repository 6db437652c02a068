import type { Listener, Wire } from '../../contract.ts'
import type { FloorCall } from './request.ts'

/** The answer so far. */
export interface Turn {
  text: string
  readonly calls: FloorCall[]
}

// The fields that are used, as the providers document them.
interface ChatChunk {
  choices: { delta: { content?: string | null; tool_calls?: ChatCall[] } }[]
}
interface ChatCall {
  index: number
  id?: string
  function: { name?: string; arguments: string }
}
type ResponsesEvent =
  | { type: 'response.output_text.delta'; delta: string }
  | { type: 'response.function_call_arguments.delta'; delta: string }
  | { type: 'response.output_item.added'; item: { type: string; call_id: string; name: string } }
  | { type: 'other' }
type MessagesEvent =
  | { type: 'content_block_start'; content_block: { type: string; id: string; name: string } }
  | { type: 'content_block_delta'; delta: MessagesDelta }
  | { type: 'other' }
type MessagesDelta = { type: 'text_delta'; text: string } | { type: 'input_json_delta'; partial_json: string }

/** Reads one event. `onArguments` gets the pieces of tool call arguments as they arrive. */
type Read = (data: string, turn: Turn, listener: Listener, onArguments?: (piece: string) => void) => void

function emitText(text: string, turn: Turn, listener: Listener): void {
  turn.text += text
  listener.text(text)
}

export const readers: Record<Wire, Read> = {
  chat(data, turn, listener, onArguments) {
    if (data === '[DONE]') return
    const chunk: ChatChunk = JSON.parse(data)
    const delta = chunk.choices[0]?.delta
    if (delta?.content) emitText(delta.content, turn, listener)
    for (const { index, id = '', function: fn } of delta?.tool_calls ?? []) {
      turn.calls[index] ??= { id, name: fn.name ?? '', json: '' }
      turn.calls[index].json += fn.arguments
      onArguments?.(fn.arguments)
    }
  },
  responses(data, turn, listener, onArguments) {
    const event: ResponsesEvent = JSON.parse(data)
    if (event.type === 'response.output_text.delta') emitText(event.delta, turn, listener)
    else if (event.type === 'response.output_item.added') {
      const { type, call_id: id, name } = event.item
      if (type === 'function_call') turn.calls.push({ id, name, json: '' })
    } else if (event.type === 'response.function_call_arguments.delta') {
      const call = turn.calls.at(-1)
      if (call) call.json += event.delta
      onArguments?.(event.delta)
    }
  },
  messages(data, turn, listener, onArguments) {
    const event: MessagesEvent = JSON.parse(data)
    if (event.type === 'content_block_start') {
      const { type, id, name } = event.content_block
      if (type === 'tool_use') turn.calls.push({ id, name, json: '' })
    } else if (event.type === 'content_block_delta') {
      const call = turn.calls.at(-1)
      if (event.delta.type === 'text_delta') emitText(event.delta.text, turn, listener)
      else if (event.delta.type === 'input_json_delta' && call) {
        call.json += event.delta.partial_json
        onArguments?.(event.delta.partial_json)
      }
    }
  },
}
