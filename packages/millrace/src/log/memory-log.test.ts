import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { agent } from '../agent/index.ts'
import type { RunEvent } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { deltaBuffer } from './delta-buffer.ts'
import { memoryLog } from './memory-log.ts'

const text = (text: string): RunEvent => ({ type: 'text', text })
const input = (callId: string, delta: string): RunEvent => ({ type: 'tool-input', callId, delta })
const inside = (callId: string, event: RunEvent): RunEvent => ({ type: 'tool-progress', callId, event })
const retract: RunEvent = { type: 'round-retract', round: 1, reason: 'x' }

/**
 * Joins deltas the slow and obvious way: interleaved texts become one delta each, up to the next
 * event that is not a delta.
 */
function joined(events: readonly RunEvent[]): RunEvent[] {
  const out: RunEvent[] = []
  let growing: { key: string; event: RunEvent }[] = []
  const flush = () => {
    out.push(...growing.map(({ event }) => event))
    growing = []
  }
  for (const event of events) {
    const key = sourceOf(event)
    if (!key) {
      flush()
      out.push(event)
      continue
    }
    const [source, kind] = key
    // Text and reasoning from one source keep their order.
    if (growing.some((other) => other.key.startsWith(`${source}:`) && other.key !== `${source}:${kind}`))
      flush()
    const before = growing.find((other) => other.key === `${source}:${kind}`)
    if (before) before.event = plus(before.event, event)
    else growing.push({ key: `${source}:${kind}`, event })
  }
  flush()
  return out
}

function sourceOf(event: RunEvent): [source: string, kind: string] | undefined {
  if (event.type === 'text' || event.type === 'reasoning') return ['self', event.type]
  if (event.type === 'tool-input') return [`input ${event.callId}`, 'input']
  const inner = event.type === 'tool-progress' && event.event && sourceOf(event.event)
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
  test('a reader that keeps up gets the same event objects that were appended', async () => {
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

  test('a reader that is behind gets what it missed in one piece, and then continues', async () => {
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

  /** A reader that has caught up and waits. */
  async function following() {
    const log = memoryLog()
    const reader = log.read()
    const waiting = reader.next()
    log.append(retract)
    await waiting
    return { log, next: async () => (await reader.next()).value }
  }

  test('a following reader gets each of several events that were appended together', async () => {
    const { log, next } = await following()
    const pushed = Array.from({ length: 1000 }, (_, at) => (at % 100 === 99 ? retract : text(`${at} `)))
    for (const event of pushed) log.append(event)
    for (const event of pushed) expect(await next()).toBe(event)
  })

  test('a reader that lags by a constant distance gets each event unchanged, indefinitely', async () => {
    const { log, next } = await following()
    const pushed = Array.from({ length: 5000 }, (_, at) => text(`${at} `))
    for (const [at, event] of pushed.entries()) {
      log.append(event)
      if (at >= 500) expect(await next()).toBe(pushed[at - 500])
    }
  })

  test('a reader that falls far behind gets the first events unchanged, the rest in one piece, and catches up', async () => {
    const { log, next } = await following()
    const pushed = Array.from({ length: 5000 }, (_, at) => text(`${at} `))
    for (const event of pushed) log.append(event)
    let read = ''
    let reads = 0
    const all = pushed.map((event) => (event as { text: string }).text).join('')
    for (; read.length < all.length; reads++) {
      const event = await next()
      if (reads < 1000) expect(event).toBe(pushed[reads])
      read += (event as { text: string }).text
    }
    expect(read).toBe(all)
    expect(reads).toBeLessThan(3000)
    const waiting = next()
    for (const event of [text('a'), text('b'), retract]) log.append(event)
    expect([await waiting, await next(), await next()]).toEqual([text('a'), text('b'), retract])
  })

  test('a reader that is behind when the log closes still gets everything', async () => {
    for (const count of [3, 3000]) {
      const { log, next } = await following()
      for (let at = 0; at < count; at++) log.append(text('x'))
      log.append(retract)
      log.close()
      let read = ''
      for (let event = await next(); event?.type === 'text'; event = await next()) read += event.text
      expect(read).toHaveLength(count)
      expect(await next()).toBeUndefined()
    }
  })

  test('any number of `next()` calls may be pending', async () => {
    const log = memoryLog()
    const reader = log.read()
    const pending = [reader.next(), reader.next(), reader.next(), reader.next()]
    log.append(text('a'))
    log.append(retract)
    log.close()
    expect((await Promise.all(pending)).map(({ value }) => value)).toEqual([
      text('a'),
      retract,
      undefined,
      undefined,
    ])
  })

  test('return() settles pending reads', async () => {
    const log = memoryLog()
    const reader = log.read()
    const pending = reader.next()
    await reader.return?.()
    expect(await pending).toEqual({ done: true, value: undefined })
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

  test('nothing can be appended after close()', () => {
    const log = memoryLog()
    log.close()
    expect(() => log.append(text('a'))).toThrow(/has ended/)
  })

  test('a late reader gets the same events, and so does the fold', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyEvent, { maxLength: 60 }), async (events) => {
        const folded: RunEvent[] = []
        const buffer = deltaBuffer((event) => folded.push(event))
        const log = memoryLog()
        for (const [index, event] of events.entries()) {
          buffer.push(event)
          log.append(event)
          expect(log.events()).toEqual(joined(events.slice(0, index + 1)))
        }
        log.close()
        buffer.settle()
        expect(folded).toEqual(joined(events))
        expect(await readAll(log.read())).toEqual(joined(events))
      }),
    )
  })

  test('a reader that pauses for any time misses nothing and gets nothing twice', async () => {
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

  test('with a stalled reader, a million deltas take no more memory than the text plus a constant', async () => {
    const deltas = sized(1_000_000)
    const model = {
      ...scriptedModel([]),
      async *stream() {
        // Each delta is a separate string, as JSON.parse would create it.
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

  test('interleaved texts are stored once each', async () => {
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

  test('a growing text is stored once, too', () => {
    const log = memoryLog()
    const before = heap()
    for (let count = 0; count < 300_000; count++) log.append(text(`word ${String(count).padStart(7, '0')} `))
    const held = heap() - before
    expect(held).toBeLessThan(300_000 * 13 * 1.05 + 4_000_000)
    log.close()
  })
})
