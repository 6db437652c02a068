import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assistantDraft, foldMessage } from './draft.ts'
import type { ModelEvent } from './events.ts'

const text = (text: string): ModelEvent => ({ type: 'text', text })
const reasoning = (text: string): ModelEvent => ({ type: 'reasoning', text })
const opaque = { provider: 'p', data: { signature: 's' } }
const call = (callId: string): ModelEvent => ({
  type: 'tool-call',
  callId,
  name: 'look',
  input: { id: callId },
})

describe('model events become a message', () => {
  test('consecutive deltas of one kind form one part', () => {
    const events = [reasoning('hm'), reasoning('m'), text('a'), text('b'), reasoning('no'), text('c')]
    expect(foldMessage(events)).toStrictEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hmm' },
        { type: 'text', text: 'ab' },
        { type: 'reasoning', text: 'no' },
        { type: 'text', text: 'c' },
      ],
    })
  })

  test('a provider tool is a part only if it has data to send back', () => {
    const tool = { type: 'provider-tool', callId: 's', name: 'search', input: { q: 1 } } as const
    expect(foldMessage([text('a'), { ...tool }, text('b'), { ...tool, opaque }, text('c')])).toStrictEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'ab' },
        { ...tool, opaque },
        { type: 'text', text: 'c' },
      ],
    })
  })

  test('a tool call ends the current text part, and text after it starts a new one', () => {
    expect(foldMessage([text('one '), text('two'), call('c1'), call('c2'), text('three')])).toStrictEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'one two' },
        { type: 'tool-call', callId: 'c1', name: 'look', input: { id: 'c1' } },
        { type: 'tool-call', callId: 'c2', name: 'look', input: { id: 'c2' } },
        { type: 'text', text: 'three' },
      ],
    })
  })

  test('a call keeps its raw text and opaque data, but not its problem', () => {
    const event: ModelEvent = {
      type: 'tool-call',
      callId: 'c1',
      name: 'look',
      input: {},
      problem: 'not JSON',
      raw: '{',
      opaque,
    }
    expect(foldMessage([event])?.content).toStrictEqual([
      { type: 'tool-call', callId: 'c1', name: 'look', input: {}, raw: '{', opaque },
    ])
  })

  test('text after the end of a part starts a new part', () => {
    const events: ModelEvent[] = [text('a'), { type: 'part-end', part: 'text' }, text('b')]
    expect(foldMessage(events)?.content).toStrictEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ])
  })

  test('the end of a part adds its opaque data', () => {
    const events: ModelEvent[] = [reasoning('hm'), { type: 'part-end', part: 'reasoning', opaque }, text('a')]
    expect(foldMessage(events)?.content).toStrictEqual([
      { type: 'reasoning', text: 'hm', opaque },
      { type: 'text', text: 'a' },
    ])
  })

  test('empty reasoning is kept only if it has opaque data', () => {
    expect(foldMessage([{ type: 'part-end', part: 'reasoning', opaque }])?.content).toStrictEqual([
      { type: 'reasoning', text: '', opaque },
    ])
    expect(foldMessage([{ type: 'part-end', part: 'reasoning' }])).toBeUndefined()
  })

  test('the end of another kind of part closes the open text first', () => {
    const events: ModelEvent[] = [text('a'), { type: 'part-end', part: 'reasoning', opaque }]
    expect(foldMessage(events)?.content).toStrictEqual([
      { type: 'text', text: 'a' },
      { type: 'reasoning', text: '', opaque },
    ])
  })

  test('other events are ignored', () => {
    const around = [
      { type: 'run-start' },
      { type: 'tool-input-start', callId: 'c1', name: 'look' },
      { type: 'tool-input', callId: 'c1', delta: '{' },
      { type: 'tool-result', callId: 'c1' },
      { type: 'done', finish: 'stop' },
      { type: 'something new' },
    ]
    expect(foldMessage(around)).toBeUndefined()
    expect(foldMessage(around.flatMap((event) => [event, text('a')]))).toStrictEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'aaaaaa' }],
    })
  })

  test('no events: no message', () => {
    expect(foldMessage([])).toBeUndefined()
    expect(assistantDraft().message()).toBeUndefined()
  })

  test('splitting deltas does not change the message', () => {
    const eventLists: fc.Arbitrary<ModelEvent[]> = fc.array(
      fc.oneof(
        fc.string({ minLength: 1 }).map(text),
        fc.string({ minLength: 1 }).map(reasoning),
        fc.constantFrom('text', 'reasoning').map((part): ModelEvent => ({ type: 'part-end', part })),
        fc.string().map(call),
      ),
    )
    fc.assert(
      fc.property(eventLists, (events) => {
        const pieces = events.flatMap((event) =>
          'text' in event ? [...event.text].map((text): ModelEvent => ({ ...event, text })) : [event],
        )
        expect(foldMessage(pieces)).toEqual(foldMessage(events))
      }),
    )
  })
})

describe('a draft in progress', () => {
  test('returns its text so far, without reasoning', () => {
    const draft = assistantDraft()
    for (const event of [reasoning('hm'), text('a'), call('c1'), text('b')]) draft.push(event)
    expect(draft.text).toBe('ab')
    draft.push(text('c'))
    draft.push(call('c2'))
    expect(draft.text).toBe('abc')
  })

  test('can return its message at any time without side effects', () => {
    const events = [text('a'), text('b'), call('c1'), reasoning('c'), reasoning('d')]
    const draft = assistantDraft()
    for (const [index, event] of events.entries()) {
      draft.push(event)
      expect(draft.message()).toEqual(foldMessage(events.slice(0, index + 1)))
    }
  })

  test('a returned message does not change with later events', () => {
    const draft = assistantDraft()
    draft.push(text('a'))
    const early = draft.message()
    draft.push(text('b'))
    draft.push(call('c1'))
    expect(early).toStrictEqual({ role: 'assistant', content: [{ type: 'text', text: 'a' }] })
  })
})
