import { describe, expect, test } from 'vitest'
import { callsIn, eventsFrom } from '../wires.test-kit.ts'

test('two calls with the same index or none are two calls', async () => {
  const frames = ['a', 'b'].flatMap((id) => [
    { type: 'content_block_start', content_block: { type: 'tool_use', id, name: 'del', input: { id } } },
    { type: 'content_block_stop' },
  ])
  const { events } = await eventsFrom('Messages', ...frames, { type: 'message_stop' })
  expect(callsIn(events)).toMatchObject([{ callId: 'a' }, { callId: 'b' }])
})

describe('a call that was cut off', () => {
  const block = {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 't', name: 'del', input: {} },
  }
  const closed = { type: 'content_block_stop', index: 0 }
  const endFrames = (...reasons: (string | null)[]) => [
    ...reasons.map((stop_reason) => ({ type: 'message_delta', delta: { stop_reason } })),
    { type: 'message_stop' },
  ]

  test.each([[['refusal']], [[null, 'max_tokens']], [['model_context_window_exceeded']]])(
    'before its first character by %j is not closed',
    async (reasons) => {
      expect(callsIn((await eventsFrom('Messages', block, closed, ...endFrames(...reasons))).events)).toEqual(
        [],
      )
    },
  )

  test.each([[['tool_use']], [[null, 'tool_use']], [[]]])('is complete if the end is %j', async (reasons) => {
    expect(
      callsIn((await eventsFrom('Messages', block, closed, ...endFrames(...reasons))).events),
    ).toHaveLength(1)
  })

  test('arguments after the end of a block are an error', async () => {
    const piece = (partial_json: string) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    })
    const { error } = await eventsFrom('Messages', block, piece('{"a":'), closed, piece('1}'))
    expect(error).toMatchObject({ code: 'stream_error', message: expect.stringContaining('out of order') })
  })
})
