import { describe, expect, test } from 'vitest'
import { callsIn, told } from '../wires.test-kit.ts'
import { calling, ended, hear } from './chat.test-kit.ts'

const rome = { callId: 'a', name: 'weather', input: { city: 'Rome' } }

describe('a cut', () => {
  const first = calling({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' })

  test.each(['length', 'content_filter'])('by %s leaves the open call unclosed', (reason) => {
    const cut = calling({ index: 1, id: 'b', name: 'time', args: '{"zone":' })
    expect(hear([first, cut, ended(reason)]).calls).toEqual([rome])
    expect(hear([first, ended(reason)]).calls).toEqual([])
    expect(hear([calling({ index: 0, id: 'a', name: 'time', args: '' }), ended(reason)]).calls).toEqual([])
  })

  test('keeps its own finish reason beside calls', () => {
    expect(hear([first, ended('length')]).finish).toBe('length')
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

  test('is not closed by a reason that is none, or that is unknown, before its arguments came', async () => {
    for (const reason of ['null', 'pending']) {
      const { events } = await told(
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
    const { events, error } = await told('Chat Completions', chunk(null), end(reason), '[DONE]')
    expect(callsIn(events)).toEqual([])
    expect(error).toMatchObject({ code: 'llm_error', retryable: true })
  })

  test('by a refusal is not closed', async () => {
    const { events } = await told('Chat Completions', chunk(null), end('refusal'), '[DONE]')
    expect(callsIn(events)).toEqual([])
  })
})
