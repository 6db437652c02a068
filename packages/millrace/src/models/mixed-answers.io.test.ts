import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import type { JsonObject, ModelEvent } from '../protocol/index.ts'
import { isMillraceError } from '../protocol/index.ts'
import type { Answer, Wire } from './mixed-answers.test-kit.ts'
import { answersOf, callKey, plainCalls } from './mixed-answers.test-kit.ts'
import { readerOf } from './recordings.test-kit.ts'

// Nearly every mixture throws, and capturing stack traces would take most of the time.
const { stackTraceLimit } = Error
beforeAll(() => {
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
})

/** The model events for these frames, in any order, and for the end of the stream. */
function read(wire: Wire, frames: readonly JsonObject[], { ends = true } = {}): readonly ModelEvent[] {
  const events: ModelEvent[] = []
  const reader = readerOf(wire, events)
  try {
    for (const frame of frames) if (!reader.ended) reader.read(JSON.stringify(frame), '')
    if (!ends) return events
    if (wire === 'openai-chat' && !reader.ended) reader.read('[DONE]', '')
    if (!reader.ended) reader.end()
  } catch (error) {
    if (!isMillraceError(error)) throw error
  }
  return events
}

/** The calls that would run. Calls without a name have no tool. */
function callsIn(events: readonly ModelEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === 'tool-call' && event.problem === undefined && event.name !== ''
      ? [callKey(event.name, event.input)]
      : [],
  )
}

const wireNames: readonly Wire[] = ['anthropic', 'openai-chat', 'openai-responses']

describe.each(wireNames)('two answers in one stream: %s', (wire) => {
  let answers: Answer[] = []
  beforeAll(async () => {
    answers = await answersOf(wire)
    expect(answers.length).toBeGreaterThanOrEqual(5)
  })

  test('the oracle finds every call that the reader finds in a complete answer', () => {
    let count = 0
    for (const { name, frames } of answers) {
      const calls = callsIn(read(wire, frames))
      const plain = plainCalls(wire, frames)
      for (const call of calls) expect(plain, name).toContain(call)
      count += calls.length
    }
    expect(count).toBeGreaterThan(4)
  })

  test('an answer that is cut off anywhere and followed by another runs only calls of one of the two', () => {
    for (const first of answers) {
      const own = plainCalls(wire, first.frames)
      for (const second of answers) {
        const others = plainCalls(wire, second.frames)
        for (let cut = 0; cut < first.frames.length; cut += first.frames.length > 60 ? 7 : 1) {
          const calls = callsIn(read(wire, [...first.frames.slice(0, cut), ...second.frames]))
          for (const call of calls)
            if (!own.has(call) && !others.has(call))
              expect.fail(`${first.name} cut at ${cut}, then ${second.name}: ${call}`)
        }
      }
    }
  })

  test('the calls of the second answer are the same as without the first', () => {
    for (const first of answers)
      for (const second of answers) {
        // Repeating the same answer gives the same calls.
        if (first.name === second.name) continue
        const alone = callsIn(read(wire, second.frames))
        for (let cut = 1; cut < first.frames.length; cut += first.frames.length > 60 ? 13 : 2) {
          const events = read(wire, [...first.frames.slice(0, cut), ...second.frames])
          const restarted = events.findLastIndex(({ type }) => type === 'restart')
          if (restarted < 0) continue
          expect(callsIn(events.slice(restarted)), `${first.name} at ${cut}, ${second.name}`).toEqual(alone)
        }
      }
  })

  // In a Messages stream, deltas have no id, so the test checks only that a call comes from one
  // block.
  test('two answers that are joined at any events run only calls of one uninterrupted block', () => {
    const places = fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.nat())
    fc.assert(
      fc.property(places, ([one, two, cut, from]) => {
        const first = answers[one % answers.length] as Answer
        const second = answers[two % answers.length] as Answer
        const frames = [
          ...first.frames.slice(0, cut % first.frames.length),
          ...second.frames.slice(from % second.frames.length),
        ]
        const plain = plainCalls(wire, frames)
        for (const call of callsIn(read(wire, frames))) expect(plain).toContain(call)
        // In Chat Completions the id of an answer is known from its second chunk on, since some
        // servers give every chunk its own id.
        if (wire === 'anthropic' || first === second) return
        if (wire === 'openai-chat' && cut % first.frames.length < 2) return
        const own = new Set([...plainCalls(wire, first.frames), ...plainCalls(wire, second.frames)])
        for (const call of callsIn(read(wire, frames))) expect(own).toContain(call)
      }),
      { numRuns: sized(1000) },
    )
  })

  test('inserted, dropped, repeated or moved events run only calls of one uninterrupted block', () => {
    const change = fc.record({
      how: fc.constantFrom('insert', 'drop', 'repeat', 'move'),
      at: fc.nat(),
      to: fc.nat(),
      from: fc.nat(),
    })
    fc.assert(
      fc.property(fc.nat(), fc.array(change, { minLength: 1, maxLength: 5 }), (one, changes) => {
        const frames = [...(answers[one % answers.length] as Answer).frames]
        for (const { how, at, to, from } of changes) {
          const place = at % frames.length
          const other = answers[from % answers.length] as Answer
          const foreign = other.frames[to % other.frames.length] as JsonObject
          if (how === 'insert') frames.splice(place, 0, foreign)
          else if (how === 'repeat') frames.splice(place, 0, frames[place] as JsonObject)
          else {
            const [taken] = frames.splice(place, 1)
            if (how === 'move' && taken) frames.splice(to % (frames.length + 1), 0, taken)
          }
          if (frames.length === 0) return
        }
        const plain = plainCalls(wire, frames)
        const from = wire === 'openai-chat' ? firstRepeatedId(frames) : 0
        if (from === undefined) return
        const before = callsIn(read(wire, frames.slice(0, from), { ends: false }))
        for (const call of callsIn(read(wire, frames)).slice(before.length)) expect(plain).toContain(call)
      }),
      { numRuns: sized(1000) },
    )
  })
})

/**
 * From this chunk on, ids are known to identify answers; before it, each chunk may have its own.
 */
function firstRepeatedId(frames: readonly JsonObject[]): number | undefined {
  const seen = new Set<unknown>()
  const at = frames.findIndex(({ id, choices }) => {
    if (!id || !Array.isArray(choices) || choices.length === 0) return false
    if (seen.has(id)) return true
    seen.add(id)
    return false
  })
  return at < 0 ? undefined : at
}
