import { describe, expect, test } from 'vitest'
import { callsIn, told } from '../wires.test-kit.ts'

test('two calls with one index, or none, are two calls', async () => {
  const frames = ['a', 'b'].flatMap((id) => [
    { type: 'content_block_start', content_block: { type: 'tool_use', id, name: 'del', input: { id } } },
    { type: 'content_block_stop' },
  ])
  const { events } = await told('Messages', ...frames, { type: 'message_stop' })
  expect(callsIn(events)).toMatchObject([{ callId: 'a' }, { callId: 'b' }])
})

describe('a call that was cut off', () => {
  const block = {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 't', name: 'del', input: {} },
  }
  const closed = { type: 'content_block_stop', index: 0 }
  const over = (...reasons: (string | null)[]) => [
    ...reasons.map((stop_reason) => ({ type: 'message_delta', delta: { stop_reason } })),
    { type: 'message_stop' },
  ]

  test.each([[['refusal']], [[null, 'max_tokens']], [['model_context_window_exceeded']]])(
    'before its first character by %j is not closed',
    async (reasons) => {
      expect(callsIn((await told('Messages', block, closed, ...over(...reasons))).events)).toEqual([])
    },
  )

  test.each([[['tool_use']], [[null, 'tool_use']], [[]]])('is none where the end is %j', async (reasons) => {
    expect(callsIn((await told('Messages', block, closed, ...over(...reasons))).events)).toHaveLength(1)
  })

  test('goes on behind its end only in a stream that is not in order', async () => {
    const piece = (partial_json: string) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    })
    const { error } = await told('Messages', block, piece('{"a":'), closed, piece('1}'))
    expect(error).toMatchObject({ code: 'stream_error', message: expect.stringContaining('not in order') })
  })
})
