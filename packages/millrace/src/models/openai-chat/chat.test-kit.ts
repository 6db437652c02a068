import { heardBy } from '../wire/reader.test-kit.ts'
import { chatReader } from './reader.ts'

/** What a reader understands of these chunks. `[DONE]` is sent only if it is among them. */
export function hear(chunks: readonly unknown[], tools: readonly string[] = ['weather', 'time']) {
  return heardBy((events) => chatReader(events, { provider: 'acme', tools: new Set(tools) }), chunks)
}

/** A chunk of the first choice. */
export function chunk(delta: object, finish: string | null = null, more: object = {}) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_794_000_000,
    model: 'acme-1',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...more,
  }
}

/** A fragment of a call, as it stands in `tool_calls`. */
export interface Piece {
  readonly index?: number | null
  readonly id?: string | null
  readonly name?: string | null
  readonly args?: unknown
}

export function calling(...pieces: readonly Piece[]) {
  return chunk({
    tool_calls: pieces.map(({ index, id, name, args }) => ({
      ...(index !== undefined && { index }),
      ...(id !== undefined && { id }),
      type: 'function',
      function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
    })),
  })
}

export const ended = (reason: string) => chunk({}, reason)
