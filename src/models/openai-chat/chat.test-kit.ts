import type { ModelEvent, Usage } from '../../protocol/index.ts'
import { chatReader } from './reader.ts'

export interface Heard {
  readonly events: readonly ModelEvent[]
  readonly error: unknown
  /** Whether it was a whole answer. */
  readonly over: boolean
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly input: unknown }[]
  readonly finish: string | undefined
  readonly usage: Partial<Usage> | undefined
}

/** What a reader understands of these chunks. `[DONE]` is sent only if it is among them. */
export function hear(chunks: readonly unknown[], tools: readonly string[] = ['weather', 'time']): Heard {
  const events: ModelEvent[] = []
  const reader = chatReader(events, { provider: 'acme', tools: new Set(tools) })
  let error: unknown
  try {
    for (const chunk of chunks)
      if (!reader.over) reader.read(typeof chunk === 'string' ? chunk : JSON.stringify(chunk), '')
    reader.end()
  } catch (thrown) {
    error = thrown
  }
  const all = <Type extends ModelEvent['type']>(type: Type) =>
    events.filter((event): event is Extract<ModelEvent, { type: Type }> => event.type === type)
  const [done] = all('done')
  return {
    events,
    error,
    over: reader.over,
    text: all('text')
      .map(({ text }) => text)
      .join(''),
    reasoning: all('reasoning')
      .map(({ text }) => text)
      .join(''),
    calls: all('tool-call').map(({ callId, name, input }) => ({ callId, name, input })),
    finish: done?.finish,
    usage: done?.usage,
  }
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
