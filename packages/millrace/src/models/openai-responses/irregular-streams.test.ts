import { describe, expect, test } from 'vitest'
import { callsIn, eventsFrom, textIn } from '../wires.test-kit.ts'

describe('nothing is lost', () => {
  const item = (sequence_number: number | undefined, event: object) => ({
    ...event,
    ...(sequence_number !== undefined && { sequence_number }),
  })
  const ha = (content_index?: number) => ({
    type: 'response.output_text.delta',
    output_index: 0,
    content_index,
    delta: 'ha',
  })
  const completed = { type: 'response.completed', response: {} }

  test('equal deltas are all emitted if numbers do not increase', async () => {
    const { events } = await eventsFrom('Responses', ...[1, 2, 3].map(() => item(0, ha(0))), completed)
    expect(textIn(events)).toBe('hahaha')
  })

  test('a repeated event is dropped if numbers increase', async () => {
    const { events } = await eventsFrom(
      'Responses',
      item(0, ha(0)),
      item(1, ha(0)),
      item(1, ha(0)),
      completed,
    )
    expect(textIn(events)).toBe('haha')
  })

  test('a second message part, or a refusal, that is not streamed', async () => {
    const done = { type: 'response.output_text.done', output_index: 0, content_index: 1, text: ' ho' }
    const refusal = { type: 'response.refusal.done', output_index: 1, content_index: 0, refusal: ' No.' }
    const { events } = await eventsFrom('Responses', ha(0), done, refusal, completed)
    expect(textIn(events)).toBe('ha ho No.')
    expect(events.at(-1)).toMatchObject({ finish: 'refusal' })
  })

  test('two calls with the same output index, or none', async () => {
    const call = (id: string, status: string) => ({
      type: 'function_call',
      call_id: id,
      name: 'del',
      arguments: '{}',
      status,
    })
    const frames = ['a', 'b'].flatMap((id) => [
      { type: 'response.output_item.added', item: call(id, 'in_progress') },
      { type: 'response.output_item.done', item: call(id, 'completed') },
    ])
    expect(callsIn((await eventsFrom('Responses', ...frames, completed)).events)).toMatchObject([
      { callId: 'a' },
      { callId: 'b' },
    ])
  })

  test.each([
    [0, undefined],
    [undefined, 0],
    [1, 1],
  ])(
    'nothing is emitted twice if parts are numbered %s in deltas and %s at the end',
    async (piece, whole) => {
      const done = { type: 'response.output_text.done', output_index: 0, content_index: whole, text: 'ha' }
      const item = { type: 'message', content: [{ type: 'output_text', text: 'ha' }] }
      const end = { type: 'response.output_item.done', output_index: 0, item }
      expect(textIn((await eventsFrom('Responses', ha(piece), done, end, completed)).events)).toBe('ha')
    },
  )

  test('calls without an index, the first without arguments', async () => {
    const call = (id: string, args: string) => ({
      type: 'function_call',
      call_id: id,
      name: 'del',
      arguments: args,
    })
    const frames = [call('a', ''), call('b', '{"x":2}')].flatMap((item) => [
      { type: 'response.output_item.added', item },
      { type: 'response.output_item.done', item },
    ])
    expect(callsIn((await eventsFrom('Responses', ...frames, completed)).events)).toMatchObject([
      { callId: 'a', input: {} },
      { callId: 'b', input: { x: 2 } },
    ])
    const cut = {
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_output_tokens' } },
    }
    const done = { type: 'response.function_call_arguments.done', arguments: '' }
    expect(callsIn((await eventsFrom('Responses', frames[0], done, frames[1], cut)).events)).toEqual([])
  })

  test('a call without a name, so that the model gets an error', async () => {
    const call = { type: 'function_call', call_id: 'a', name: '', arguments: '{"a":1}', status: 'completed' }
    const { events, error } = await eventsFrom(
      'Responses',
      { type: 'response.output_item.done', output_index: 0, item: call },
      completed,
    )
    expect(error).toBeUndefined()
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input', 'tool-call', 'done'])
  })

  test('a shell that OpenAI runs is not a tool call, but its output is emitted', async () => {
    const environment = { type: 'container_reference', container_id: 'k' }
    const shell = {
      type: 'shell_call',
      id: 'sh',
      call_id: 'c',
      status: 'completed',
      action: { commands: ['ls'] },
      environment,
    }
    const output = { type: 'shell_call_output', id: 'so', call_id: 'c', output: [{ stdout: 'a' }] }
    const done = (item: object, output_index: number) => ({
      type: 'response.output_item.done',
      output_index,
      item,
    })
    const { events } = await eventsFrom('Responses', done(shell, 0), done(output, 1), completed)
    expect(events.filter((event) => 'opaque' in event)).toMatchObject([
      { type: 'provider-tool', callId: 'c', name: 'shell' },
      { type: 'provider-tool', callId: 'c', name: 'shell', output: [{ stdout: 'a' }] },
    ])
    expect(callsIn(events)).toEqual([])
  })

  test('a completed call is emitted at once, even without arguments', async () => {
    const item = { type: 'function_call', call_id: 'a', name: 'del', arguments: '', status: 'completed' }
    const { events } = await eventsFrom('Responses', {
      type: 'response.output_item.done',
      output_index: 0,
      item,
    })
    expect(callsIn(events)).toMatchObject([{ callId: 'a', input: {} }])
  })
})
