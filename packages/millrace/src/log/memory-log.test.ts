import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { agent } from '../agent/index.ts'
import type { RunEvent } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { memoryLog } from './memory-log.ts'
import { tail } from './tail.ts'

const text = (text: string): RunEvent => ({ type: 'text', text })
const input = (callId: string, delta: string): RunEvent => ({ type: 'tool-input', callId, delta })
const inside = (callId: string, event: RunEvent): RunEvent => ({ type: 'tool-progress', callId, event })
const retract: RunEvent = { type: 'round-retract', round: 1, reason: 'x' }

/** Joins deltas the slow and obvious way: texts told side by side are one each, up to the next event that is no delta. */
function joined(events: readonly RunEvent[]): RunEvent[] {
  const out: RunEvent[] = []
  let side: { lane: string; event: RunEvent }[] = []
  const flush = () => {
    out.push(...side.map(({ event }) => event))
    side = []
  }
  for (const event of events) {
    const lane = laneOf(event)
    if (!lane) {
      flush()
      out.push(event)
      continue
    }
    const [voice, kind] = lane
    // Words and reasoning of one voice keep their order.
    if (side.some((other) => other.lane.startsWith(`${voice}:`) && other.lane !== `${voice}:${kind}`)) flush()
    const before = side.find((other) => other.lane === `${voice}:${kind}`)
    if (before) before.event = plus(before.event, event)
    else side.push({ lane: `${voice}:${kind}`, event })
  }
  flush()
  return out
}

function laneOf(event: RunEvent): [voice: string, kind: string] | undefined {
  if (event.type === 'text' || event.type === 'reasoning') return ['self', event.type]
  if (event.type === 'tool-input') return [`input ${event.callId}`, 'input']
  const inner = event.type === 'tool-progress' && event.event && laneOf(event.event)
  return inner ? [`${(event as { callId: string }).callId}/${inner[0]}`, inner[1]] : undefined
}

function plus(a: RunEvent, b: RunEvent): RunEvent {
  if (a.type === 'tool-progress' && b.type === 'tool-progress')
    return inside(a.callId, plus(a.event as RunEvent, b.event as RunEvent))
  if (a.type === 'tool-input' && b.type === 'tool-input') return input(a.callId, a.delta + b.delta)
  return { ...a, text: (a as { text: string }).text + (b as { text: string }).text } as RunEvent
}

async function readAll(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const out: RunEvent[] = []
  for await (const event of events) out.push(event)
  return out
}

const delta = fc.string({ minLength: 1, maxLength: 4 })
const anyEvent = fc.oneof(
  { weight: 4, arbitrary: delta.map(text) },
  delta.map((value): RunEvent => ({ type: 'reasoning', text: value })),
  fc.tuple(fc.constantFrom('a', 'b'), delta).map(([callId, value]) => input(callId, value)),
  fc.tuple(fc.constantFrom('a', 'b'), delta).map(([callId, value]) => inside(callId, text(value))),
  fc
    .tuple(fc.constantFrom('a', 'b'), delta)
    .map(([callId, value]) => inside(callId, inside('c', { type: 'reasoning', text: value }))),
  fc.constantFrom('a', 'b').map((callId): RunEvent => ({ type: 'tool-progress', callId, data: 1 })),
  fc.constant(retract),
)

describe('readers', () => {
  test('one that keeps up gets the very events that were pushed', async () => {
    const log = memoryLog()
    const reader = log.read()
    for (const event of [text('a'), text('b'), input('1', 'c'), input('1', 'd'), retract]) {
      log.append(event)
      expect((await reader.next()).value).toBe(event)
    }
    log.close()
    expect(await reader.next()).toEqual({ done: true, value: undefined })
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })

  test('one that is behind gets what it missed in one piece, and then goes on', async () => {
    const log = memoryLog()
    const reader = log.read()
    log.append(text('a'))
    await reader.next()
    for (const piece of ['b', 'c', 'd']) log.append(text(piece))
    expect((await reader.next()).value).toEqual(text('bcd'))
    log.append(text('e'))
    log.append(retract)
    expect((await reader.next()).value).toEqual(text('e'))
    expect((await reader.next()).value).toBe(retract)
  })

  /** A reader that has read everything there is, and waits. */
  async function following() {
    const log = memoryLog()
    const reader = log.read()
    const waiting = reader.next()
    log.append(retract)
    await waiting
    return { log, next: async () => (await reader.next()).value }
  }

  test('one that follows gets each of those that were pushed together', async () => {
    const { log, next } = await following()
    const pushed = Array.from({ length: 1000 }, (_, at) => (at % 100 === 99 ? retract : text(`${at} `)))
    for (const event of pushed) log.append(event)
    for (const event of pushed) expect(await next()).toBe(event)
  })

  test('one that follows at a distance gets each as it was, for as long as it likes', async () => {
    const { log, next } = await following()
    const pushed = Array.from({ length: 5000 }, (_, at) => text(`${at} `))
    for (const [at, event] of pushed.entries()) {
      log.append(event)
      if (at >= 500) expect(await next()).toBe(pushed[at - 500])
    }
  })

  test('one that falls far behind gets the beginning as it was, the rest in one piece, and is in step again', async () => {
    const { log, next } = await following()
    const pushed = Array.from({ length: 5000 }, (_, at) => text(`${at} `))
    for (const event of pushed) log.append(event)
    let heard = ''
    let reads = 0
    const all = pushed.map((event) => (event as { text: string }).text).join('')
    for (; heard.length < all.length; reads++) {
      const event = await next()
      if (reads < 1000) expect(event).toBe(pushed[reads])
      heard += (event as { text: string }).text
    }
    expect(heard).toBe(all)
    expect(reads).toBeLessThan(3000)
    const waiting = next()
    for (const event of [text('a'), text('b'), retract]) log.append(event)
    expect([await waiting, await next(), await next()]).toEqual([text('a'), text('b'), retract])
  })

  test('one that is behind at the end still gets everything', async () => {
    for (const count of [3, 3000]) {
      const { log, next } = await following()
      for (let at = 0; at < count; at++) log.append(text('x'))
      log.append(retract)
      log.close()
      let heard = ''
      for (let event = await next(); event?.type === 'text'; event = await next()) heard += event.text
      expect(heard).toHaveLength(count)
      expect(await next()).toBeUndefined()
    }
  })

  test('any number of `next` may be asked for at once', async () => {
    const log = memoryLog()
    const reader = log.read()
    const asked = [reader.next(), reader.next(), reader.next(), reader.next()]
    log.append(text('a'))
    log.append(retract)
    log.close()
    expect((await Promise.all(asked)).map(({ value }) => value)).toEqual([
      text('a'),
      retract,
      undefined,
      undefined,
    ])
  })

  test('leaving settles what was asked for', async () => {
    const log = memoryLog()
    const reader = log.read()
    const asked = reader.next()
    await reader.return?.()
    expect(await asked).toEqual({ done: true, value: undefined })
    log.append(text('a'))
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })

  test('deltas of different calls, kinds and agents are not joined', async () => {
    const log = memoryLog()
    const events = [
      text('a'),
      { type: 'reasoning', text: 'b' } as const,
      input('1', 'c'),
      input('2', 'd'),
      inside('1', text('e')),
      inside('2', text('f')),
      inside('2', input('1', 'g')),
    ]
    for (const event of events) log.append(event)
    log.close()
    expect(await readAll(log.read())).toEqual(events)
  })

  test('nothing can be said after the end', () => {
    const log = memoryLog()
    log.close()
    expect(() => log.append(text('a'))).toThrow(/over/)
  })

  test('who comes late gets the same, and so does the fold', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyEvent, { maxLength: 60 }), async (events) => {
        const folded: RunEvent[] = []
        const end = tail((event) => folded.push(event))
        const log = memoryLog()
        for (const [index, event] of events.entries()) {
          end.push(event)
          log.append(event)
          expect(log.events()).toEqual(joined(events.slice(0, index + 1)))
        }
        log.close()
        end.settle()
        expect(folded).toEqual(joined(events))
        expect(await readAll(log.read())).toEqual(joined(events))
      }),
    )
  })

  test('a reader with pauses of any length misses nothing and gets nothing twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { maxLength: 200 }),
        fc.array(fc.nat({ max: 5 }), { minLength: 1 }),
        async (events, pauses) => {
          const log = memoryLog()
          const seen: RunEvent[] = []
          const reading = (async () => {
            let turn = 0
            for await (const event of log.read()) {
              seen.push(event)
              for (let wait = pauses[turn++ % pauses.length] ?? 0; wait > 0; wait--) await undefined
            }
          })()
          for (const event of events) {
            log.append(event)
            await undefined
          }
          log.close()
          await reading
          expect(joined(seen)).toEqual(joined(events))
        },
      ),
      { numRuns: sized(300) },
    )
  })
})

describe('memory', () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const heap = () => {
    collectGarbage()
    collectGarbage()
    return process.memoryUsage().heapUsed
  }

  test('very many deltas into a stalled reader hold no more than the text itself plus a constant', async () => {
    const deltas = sized(1_000_000)
    const model = {
      ...scriptedModel([]),
      async *stream() {
        // Each delta is a string of its own, as JSON.parse would make it.
        for (let count = 0; count < deltas; count++)
          yield { type: 'text' as const, text: `word ${String(count).padStart(7, '0')} ` }
        yield { type: 'done' as const, finish: 'stop' as const }
      },
    }
    const textBytes = deltas * 13
    const before = heap()
    const run = agent({ model }).stream('go')
    const stalled = run[Symbol.asyncIterator]()
    await stalled.next()
    const result = await run.result
    const held = heap() - before
    expect(result.text).toHaveLength(textBytes)
    expect(held).toBeLessThan(textBytes * 1.05 + 4_000_000)
    // The stalled reader has lost nothing.
    let length = 0
    for await (const event of { [Symbol.asyncIterator]: () => stalled })
      if (event.type === 'text') length += event.text.length
    expect(length).toBe(textBytes)
  })

  test('texts told side by side are held once each', async () => {
    const log = memoryLog()
    const before = heap()
    for (let count = 0; count < 200_000; count++)
      for (const callId of ['a', 'b', 'c'])
        log.append(inside(callId, text(`${String(count).padStart(7, '0')} `)))
    const held = heap() - before
    expect(held).toBeLessThan(600_000 * 8 * 1.05 + 4_000_000)
    expect(log.events()).toHaveLength(3)
    log.close()
  })

  test('while the text still grows it is held once, too', () => {
    const log = memoryLog()
    const before = heap()
    for (let count = 0; count < 300_000; count++) log.append(text(`word ${String(count).padStart(7, '0')} `))
    const held = heap() - before
    expect(held).toBeLessThan(300_000 * 13 * 1.05 + 4_000_000)
    log.close()
  })
})
