import fc from 'fast-check'
import type { Entry } from 'millrace/client'
import { describe, expect, it } from 'vitest'
import { entryIndex } from './entry-index.ts'
import type { EventFilter, EventKind } from './filter.ts'
import { eventKinds, kindOf, noFilter, passes } from './filter.ts'

const log: Entry[] = [
  {
    seq: 1,
    at: 0,
    event: { type: 'input', message: { role: 'user', content: 'Where is ORD-42?' }, mode: 'queue' },
  },
  {
    seq: 2,
    at: 0,
    event: { type: 'run-start', version: 2, runId: 'run_1', agent: 'desk', input: [], inputs: [1] },
  },
  { seq: 3, at: 0, event: { type: 'round-start', round: 1, model: 'm' } },
  { seq: 7, from: 4, at: 0, event: { type: 'text', text: 'Let me (look).' } },
  { seq: 8, at: 0, event: { type: 'tool-call', callId: 'c1', name: 'look_up', input: { id: 'ORD-42' } } },
  { seq: 9, at: 0, event: { type: 'stop', reason: 'enough' } },
]

function shown(filter: Partial<EventFilter>, entries: readonly Entry[] = log): number[] {
  const index = entryIndex(entries, { ...noFilter, ...filter })
  while (!index.done) index.advance(2)
  return index.found.map(({ seq }) => seq)
}

const only = (...kinds: EventKind[]) => ({ kinds })

describe('the event filter', () => {
  it('matches everything by default', () => {
    expect(shown({})).toEqual([1, 2, 3, 7, 8, 9])
  })

  it('filters by kind of event', () => {
    expect(shown(only('text'))).toEqual([7])
    expect(shown(only('people', 'tools'))).toEqual([1, 8, 9])
    expect(eventKinds.flatMap((kind) => shown(only(kind))).sort()).toEqual([1, 2, 3, 7, 8, 9])
  })

  it('treats an unknown event as one of a run', () => {
    for (const type of ['playback', 'feedback', 'title']) expect(kindOf(type)).toBe('people')
    expect(kindOf('handover')).toBe('runs')
    expect(kindOf('constructor')).toBe('runs')
  })

  it('finds literal text in values, keys and numbers, ignoring case', () => {
    expect(shown({ text: 'ord-42' })).toEqual([1, 8])
    expect(shown({ text: '(LOOK).' })).toEqual([7])
    expect(shown({ text: 'look_up' })).toEqual([8])
    expect(shown({ text: 'inputs' })).toEqual([2])
    expect(shown({ text: 'nowhere' })).toEqual([])
  })

  it('filters by a range of numbers, including entries that overlap it', () => {
    expect(shown({ from: 5, to: 8 })).toEqual([7, 8])
    expect(shown({ from: 3, to: 5 })).toEqual([3, 7])
  })

  it('finds the entry that contains a number', () => {
    const index = entryIndex(log, noFilter)
    index.advance(100)
    expect([1, 5, 7, 9].map((seq) => index.placeOf(seq))).toEqual([0, 3, 3, 5])
    expect(index.placeOf(10)).toBe(-1)
    const texts = entryIndex(log, { ...noFilter, ...only('text') })
    texts.advance(100)
    expect([3, 4, 8].map((seq) => texts.placeOf(seq))).toEqual([-1, 0, -1])
  })
})

it('the index of a growing log equals the index of the whole log', () => {
  const event = fc.constantFrom(...log.map((entry) => entry.event))
  const filter = fc.record({
    kinds: fc.subarray([...eventKinds]),
    text: fc.constantFrom('', 'o', '4', 'look'),
    from: fc.integer({ min: 1, max: 30 }),
    to: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 60 })),
  })
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 60 }),
      filter,
      fc.infiniteStream(fc.nat(5)),
      (events, wanted, steps) => {
        const whole = events.map((one, index): Entry => ({ seq: index + 1, at: index, event: one }))
        const growing: Entry[] = []
        const index = entryIndex(growing, wanted)
        for (const entry of whole) {
          growing.push(entry)
          index.advance(steps.next().value)
        }
        while (!index.done) index.advance(1)
        const expected = whole.filter(passes(wanted)).map(({ seq }) => seq)
        expect(index.found.map(({ seq }) => seq)).toEqual(expected)
      },
    ),
  )
})

it('each entry is checked only once', () => {
  let looks = 0
  const growing = log.map((entry) => ({
    ...entry,
    get event() {
      looks++
      return entry.event
    },
  }))
  const index = entryIndex(growing, { ...noFilter, text: 'look' })
  index.advance(growing.length)
  expect(looks).toBeGreaterThan(0)
  looks = 0
  growing.push({ seq: 10, at: 0, event: { type: 'text', text: 'look here' } })
  index.advance(100)
  expect([index.found.length, looks]).toEqual([3, 0])
})
