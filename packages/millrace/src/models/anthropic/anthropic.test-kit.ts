import type { Usage } from '../../protocol/index.ts'
import { heardBy } from '../wire/reader.test-kit.ts'
import { anthropicReader } from './reader.ts'

/** What a reader understands of these events. */
export function hear(frames: readonly unknown[], spent?: Usage) {
  const heard = heardBy(
    (events) => anthropicReader(events, { provider: 'anthropic', ...(spent && { spent }) }),
    frames,
  )
  return { ...heard, paused: heard.reader.paused }
}

export const started = (usage: object = { input_tokens: 10, output_tokens: 1 }) => ({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-1',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  },
})

export const begun = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
})
export const delta = (index: number, type: string, more: object) => ({
  type: 'content_block_delta',
  index,
  delta: { type, ...more },
})
export const closed = (index: number) => ({ type: 'content_block_stop', index })

/** The end of an answer: why, and what it took. */
export const ended = (
  stop_reason: string | null,
  more: object = {},
  usage: object = { output_tokens: 9 },
) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null, ...more }, usage },
  { type: 'message_stop' },
]

/** A whole block of text. */
export const said = (index: number, text: string) => [
  begun(index, { type: 'text', text: '' }),
  delta(index, 'text_delta', { text }),
  closed(index),
]

/** A whole call with its arguments in pieces. */
export const called = (index: number, id: string, name: string, ...pieces: readonly string[]) => [
  begun(index, { type: 'tool_use', id, name, input: {} }),
  ...pieces.map((partial_json) => delta(index, 'input_json_delta', { partial_json })),
  closed(index),
]
