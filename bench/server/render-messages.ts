import type { Frame, Render } from './frame.ts'
import { tokens } from './frame.ts'
import { idOf } from './ids.ts'

/** Anthropic Messages: numbered content blocks, each begun, filled and stopped, between `message_start` and `message_stop`. */
export const renderMessages: Render = ({ name, round, parts }) => {
  const frames: Frame[] = []
  function send(type: string, fields: object = {}, waitMs = 0) {
    frames.push({ text: `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`, waitMs })
  }

  const { input, output } = tokens(round, parts)
  const counts = { input_tokens: input, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  send('message_start', {
    message: {
      model: 'claude-sonnet-4-5-20250929',
      id: idOf('msg_01', 22, name, round),
      type: 'message',
      role: 'assistant',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        ...counts,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: 1,
        service_tier: 'standard',
        inference_geo: 'not_available',
      },
    },
  })
  for (const [index, { everyMs = 0, ...part }] of parts.entries()) {
    const delta = (fields: object, waitMs: number) =>
      send('content_block_delta', { index, delta: fields }, waitMs)
    if (part.type === 'text') {
      send('content_block_start', { index, content_block: { type: 'text', text: '' } })
      if (index === 0) send('ping')
      for (const text of part.deltas) delta({ type: 'text_delta', text }, everyMs)
    } else {
      const id = idOf('toolu_01', 22, name, round, index)
      send('content_block_start', {
        index,
        content_block: { type: 'tool_use', id, name: part.name, input: {} },
      })
      if (index === 0) send('ping')
      delta({ type: 'input_json_delta', partial_json: '' }, 0)
      for (const text of part.deltas) delta({ type: 'input_json_delta', partial_json: text }, everyMs)
    }
    send('content_block_stop', { index })
  }
  const calls = parts.some(({ type }) => type === 'call')
  send('message_delta', {
    delta: { stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null },
    usage: { ...counts, output_tokens: output },
  })
  send('message_stop')
  return frames
}
