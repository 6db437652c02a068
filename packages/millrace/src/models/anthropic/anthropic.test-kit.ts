import type { Usage } from '../../protocol/index.ts'
import { readWith } from '../wire/reader.test-kit.ts'
import { anthropicReader } from './reader.ts'

/** Reads these events. */
export function readFrames(frames: readonly unknown[], priorUsage?: Usage) {
  const result = readWith(
    (events) => anthropicReader(events, { provider: 'anthropic', ...(priorUsage && { priorUsage }) }),
    frames,
  )
  return { ...result, paused: result.reader.paused }
}

export const messageStart = (usage: object = { input_tokens: 10, output_tokens: 1 }) => ({
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

export const blockStart = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
})
export const delta = (index: number, type: string, more: object) => ({
  type: 'content_block_delta',
  index,
  delta: { type, ...more },
})
export const blockStop = (index: number) => ({ type: 'content_block_stop', index })

/** The end of an answer, with its stop reason and usage. */
export const messageEnd = (
  stop_reason: string | null,
  more: object = {},
  usage: object = { output_tokens: 9 },
) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null, ...more }, usage },
  { type: 'message_stop' },
]

/** A whole block of text. */
export const textBlock = (index: number, text: string) => [
  blockStart(index, { type: 'text', text: '' }),
  delta(index, 'text_delta', { text }),
  blockStop(index),
]

/** A whole call with its arguments in pieces. */
export const toolUse = (index: number, id: string, name: string, ...pieces: readonly string[]) => [
  blockStart(index, { type: 'tool_use', id, name, input: {} }),
  ...pieces.map((partial_json) => delta(index, 'input_json_delta', { partial_json })),
  blockStop(index),
]
