import { readWith } from '../wire/reader.test-kit.ts'
import { chatReader } from './reader.ts'

/** Reads these chunks. `[DONE]` is sent only if it is one of them. */
export function readChunks(chunks: readonly unknown[], tools: readonly string[] = ['weather', 'time']) {
  return readWith((events) => chatReader(events, { provider: 'acme', tools: new Set(tools) }), chunks)
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

/** A fragment of a call in `tool_calls`. */
export interface Piece {
  readonly index?: number | null
  readonly id?: string | null
  readonly name?: string | null
  readonly args?: unknown
}

export function callChunk(...pieces: readonly Piece[]) {
  return chunk({
    tool_calls: pieces.map(({ index, id, name, args }) => ({
      ...(index !== undefined && { index }),
      ...(id !== undefined && { id }),
      type: 'function',
      function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
    })),
  })
}

export const finishChunk = (reason: string) => chunk({}, reason)
