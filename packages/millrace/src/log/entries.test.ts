import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry, RunEvent, ThreadEvent } from '../protocol/index.ts'
import {
  cutEntry,
  firstOf,
  joinEntries,
  logProblem,
  packEntries,
  readEntries,
  splitEntry,
} from './entries.ts'

// Small alphabets, so that adjacent deltas often belong to the same text; lone surrogates, since a
// cut may leave them.
const words = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\ud83d', '\n'), minLength: 1, maxLength: 5 })
const callId = fc.constantFrom('c1', 'c2')
const deltaEvent: fc.Arbitrary<ThreadEvent> = fc.oneof(
  fc.record({ type: fc.constantFrom('text' as const, 'reasoning' as const), text: words }),
  fc.record({ type: fc.constant('tool-input' as const), callId, delta: words }),
)
const event: fc.Arbitrary<ThreadEvent> = fc.oneof(
  { weight: 6, arbitrary: deltaEvent },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('tool-progress' as const),
      callId,
      event: deltaEvent as fc.Arbitrary<RunEvent>,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<ThreadEvent>(
      { type: 'stop', reason: 'enough' },
      { type: 'part-end', part: 'text' },
      { type: 'tool-progress', callId: 'c1', data: { done: 1 } },
      { type: 'tool-progress', callId: 'c1', data: 1, event: { type: 'text', text: 'both' } },
    ),
  },
)
const log: fc.Arbitrary<Entry[]> = fc
  .array(fc.record({ event, at: fc.integer({ min: 1e12, max: 1e12 + 50 }) }), { maxLength: 60 })
  .map((events) => events.map(({ event, at }, index) => ({ seq: index + 1, at, event })))
/** A log, and a reader's position in it. */
const logAndCursor = log.chain((entries) =>
  fc.record({ entries: fc.constant(entries), after: fc.nat(entries.length) }),
)

/**
 * Content independent of cuts: the text of each source, in order, and all other events with their
 * numbers.
 */
function contentOf(entries: readonly Entry[]): unknown[] {
  return joinEntries(entries).map(({ seq, event }) => ({ seq, event }))
}

const all = { limit: Infinity }

describe('joining entries', () => {
  it('keeps all numbers and text, and joins all adjacent deltas', () => {
    fc.assert(
      fc.property(log, (entries) => {
        const joined = joinEntries(entries)
        expect(logProblem(joined)).toBeUndefined()
        expect(joined.at(-1)?.seq).toBe(entries.at(-1)?.seq)
        expect(joinEntries(joined)).toEqual(joined)
        for (const { seq, from, at } of joined) {
          expect(at).toBe(entries[seq - 1]?.at)
          expect(from).not.toBe(seq)
        }
        expect(textOf(joined)).toBe(textOf(entries))
      }),
    )
  })

  it('makes one entry of consecutive deltas, with the time of the last', () => {
    const joined = joinEntries([
      { seq: 4, at: 10, event: { type: 'text', text: 'mill' } },
      { seq: 5, at: 20, event: { type: 'text', text: 'race' } },
      { seq: 6, at: 30, event: { type: 'reasoning', text: 'hm' } },
    ])
    expect(joined).toEqual([
      { seq: 5, from: 4, at: 20, event: { type: 'text', text: 'millrace' } },
      { seq: 6, at: 30, event: { type: 'reasoning', text: 'hm' } },
    ])
  })

  it('does not join across a missing number', () => {
    const entries: Entry[] = [
      { seq: 1, at: 0, event: { type: 'text', text: 'a' } },
      { seq: 3, at: 0, event: { type: 'text', text: 'b' } },
    ]
    expect(joinEntries(entries)).toEqual(entries)
  })

  it('keeps data that a tool reports along with the text of its sub-agent', () => {
    const report: ThreadEvent = {
      type: 'tool-progress',
      callId: 'c',
      data: 1,
      event: { type: 'text', text: 'a' },
    }
    const entries = [1, 2].map((seq) => ({ seq, at: 0, event: report }))
    expect(joinEntries(entries)).toEqual(entries)
  })

  it('takes linear time in the length of the text', () => {
    const entries = Array.from({ length: 300_000 }, (_, index) => ({
      seq: index + 1,
      at: 0,
      event: { type: 'text', text: 'word ' } as const,
    }))
    const [whole, ...others] = joinEntries(entries)
    expect(others).toEqual([])
    expect(whole?.event).toEqual({ type: 'text', text: 'word '.repeat(300_000) })
  })
})

describe('packed entries', () => {
  it('split into the original entries', () => {
    fc.assert(
      fc.property(log, (entries) => {
        expect(packEntries(entries).flatMap(splitEntry)).toEqual(entries)
      }),
    )
  })

  it('can be packed again with newer entries, in any portions', () => {
    fc.assert(
      fc.property(log, fc.array(fc.nat(60), { maxLength: 5 }), (entries, ends) => {
        let packed: Entry[] = entries
        for (const end of ends) packed = [...packEntries(packed.slice(0, end)), ...packed.slice(end)]
        expect(packEntries(packed).flatMap(splitEntry)).toEqual(entries)
        expect(packEntries(packed)).toEqual(packEntries(entries))
      }),
    )
  })

  it('return the exact rest after any number', () => {
    fc.assert(
      fc.property(logAndCursor, ({ entries, after }) => {
        const packed = packEntries(entries).filter(({ seq }) => seq > after)
        const read = readEntries(packed, { ...all, after })
        if (read[0]) expect(firstOf(read[0])).toBe(after + 1)
        expect(contentOf(read)).toEqual(contentOf(entries.slice(after)))
        expect(readEntries(packed, { ...all, after, split: true })).toEqual(entries.slice(after))
        for (const entry of read) expect(entry).not.toHaveProperty('cuts')
      }),
    )
  })

  it('are read in pages of any size, without gaps or duplicates', () => {
    fc.assert(
      fc.property(log, fc.integer({ min: 1, max: 9 }), fc.boolean(), (entries, limit, split) => {
        const packed = packEntries(entries)
        const read: Entry[] = []
        for (let after = 0; after < entries.length; after = read.at(-1)?.seq ?? Infinity) {
          const page = readEntries(
            packed.filter(({ seq }) => seq > after),
            { after, limit, split },
          )
          expect(page.length).toBeLessThanOrEqual(limit)
          read.push(...page)
        }
        expect(read).toEqual(split ? entries : packed.map((entry) => cutEntry(entry, 0)))
      }),
    )
  })

  it('stay small, however long the answer', () => {
    const entries = Array.from({ length: 5000 }, (_, index) => ({
      seq: index + 1,
      at: 0,
      event: { type: 'text', text: 'x'.repeat(index < 4000 ? 1 : 1000) } as const,
    }))
    const packed = packEntries(entries)
    expect(packed.length).toBeGreaterThan(4)
    expect(packed.length).toBeLessThan(12)
    for (const { event } of packed) expect(JSON.stringify(event).length).toBeLessThan(300_000)
    expect(packed.flatMap(splitEntry)).toEqual(entries)
  })

  it('without stored cuts are always cut at the same places, with text for each number', () => {
    const whole: Entry = { seq: 6, from: 3, at: 9, event: { type: 'text', text: 'abcdefghij' } }
    const pieces = splitEntry(whole)
    expect(pieces.map(({ seq }) => seq)).toEqual([3, 4, 5, 6])
    for (const { event } of pieces) expect(event).not.toEqual({ type: 'text', text: '' })
    expect(textOf(pieces)).toBe('abcdefghij')
    const [more] = packEntries([whole, { seq: 7, at: 20, event: { type: 'text', text: 'k' } }])
    for (const after of [3, 4, 5])
      expect(`${textOf([cutEntry(whole, after)])}k`).toBe(textOf([cutEntry(more as Entry, after)]))
  })
})

describe('an imported log', () => {
  const text: ThreadEvent = { type: 'text', text: 'ab' }
  it.each<[what: string, entries: Entry[], problem: string]>([
    ['starts late', [{ seq: 2, at: 0, event: text }], 'number 1 must come next, not 2'],
    ['has a gap', [1, 3].map((seq) => ({ seq, at: 0, event: text })), 'number 2 must come next, not 3'],
    [
      'has a number twice',
      [
        { seq: 1, at: 0, event: text },
        { seq: 2, from: 1, at: 0, event: text },
      ],
      'number 2 must come next, not 1 to 2',
    ],
    [
      'joins events that are not deltas',
      [{ seq: 2, from: 1, at: 0, event: { type: 'stop', reason: '' } }],
      '1 to 2 are one entry, but it is not a delta',
    ],
  ])('is rejected if it %s', (_, entries, problem) => {
    expect(logProblem(entries)).toBe(problem)
  })
})

function textOf(entries: readonly Entry[]): string {
  const words = entries.map(({ event }) => {
    let inner = event
    while (inner.type === 'tool-progress' && inner.event) inner = inner.event
    return inner.type === 'text' || inner.type === 'reasoning'
      ? inner.text
      : inner.type === 'tool-input'
        ? inner.delta
        : ''
  })
  return words.join('')
}
