import { describe, expect, test } from 'vitest'
import { callsIn, eventsFrom } from '../wires.test-kit.ts'
import { callChunk, finishChunk, readChunks } from './chat.test-kit.ts'

const rome = { callId: 'a', name: 'weather', input: { city: 'Rome' } }

describe('an answer that is cut off', () => {
  const first = callChunk({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })

  test.each(['length', 'content_filter'])('by %s leaves the open call unclosed', (reason) => {
    const cut = callChunk({ index: 1, id: 'b', name: 'time', args: '{"zone":' })
    expect(readChunks([first, cut, finishChunk(reason)]).calls).toEqual([rome])
    expect(readChunks([first, finishChunk(reason)]).calls).toEqual([])
    expect(
      readChunks([callChunk({ index: 0, id: 'a', name: 'time', args: '' }), finishChunk(reason)]).calls,
    ).toEqual([])
  })

  test('keeps its finish reason even with calls', () => {
    expect(readChunks([first, finishChunk('length')]).finish).toBe('length')
  })
})

describe('a call that was cut off', () => {
  const chunk = (finish_reason: string | null, args = '') => ({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'del', arguments: args } }] },
        finish_reason,
      },
    ],
  })
  const end = (finish_reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason }] })

  test('is not closed by an empty or unknown reason before its arguments arrive', async () => {
    for (const reason of ['null', 'pending']) {
      const { events } = await eventsFrom(
        'Chat Completions',
        chunk(reason),
        chunk(null, '{"id":1}'),
        end('tool_calls'),
        '[DONE]',
      )
      expect(callsIn(events)).toMatchObject([{ input: { id: 1 } }])
    }
  })

  test.each(['abort', 'error', 'network_error'])('by %s is a failure', async (reason) => {
    const { events, error } = await eventsFrom('Chat Completions', chunk(null), end(reason), '[DONE]')
    expect(callsIn(events)).toEqual([])
    expect(error).toMatchObject({ code: 'llm_error', retryable: true })
  })

  test('by a refusal is not closed', async () => {
    const { events } = await eventsFrom('Chat Completions', chunk(null), end('refusal'), '[DONE]')
    expect(callsIn(events)).toEqual([])
  })
})
