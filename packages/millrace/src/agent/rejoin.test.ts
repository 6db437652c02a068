import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sized } from '../../../../test/size.ts'
import type { Model, ModelEvent, ProviderData, RunEvent } from '../protocol/index.ts'
import { MillraceError, textOf } from '../protocol/index.ts'
import { tool } from '../tools/index.ts'
import { collect, of, pairs } from './agent.test-kit.ts'
import { agent } from './agent.ts'

/** After how many events a connection fails, and how. */
interface Break {
  readonly after: number
  readonly error?: MillraceError
}

const dropped = new MillraceError({ op: 'model.stream', code: 'stream_error', message: 'dropped' })
const unknown = new MillraceError({
  op: 'model.stream',
  code: 'llm_error',
  message: 'not found',
  status: 404,
})

/**
 * A model whose provider generates without a connection. Each generation gets the next round;
 * `breaks` lists the failures of the connections in order.
 */
function keptModel(rounds: readonly (readonly ModelEvent[])[], breaks: readonly Break[] = []) {
  const kept: (readonly ModelEvent[])[] = []
  const canceled: string[] = []
  let connections = 0
  let resumed = 0

  async function* connect(id: number, from: number): AsyncGenerator<ModelEvent> {
    const { after, error = dropped } = breaks[connections++] ?? { after: Number.POSITIVE_INFINITY }
    const events = kept[id] ?? []
    for (const [at, event] of events.slice(from).entries()) {
      // The first connection of a generation reaches at least its first checkpoint.
      if (at >= after && (at > 0 || from > 0)) throw error
      yield event.type === 'checkpoint' ? checkpoint(id, from + at + 1) : event
    }
  }

  const checkpoint = (id: number, at: number): ModelEvent => ({
    type: 'checkpoint',
    opaque: { provider: 'kept', data: { id, at } },
  })
  const positionOf = ({ data }: ProviderData) => data as unknown as { id: number; at: number }

  const model: Model = {
    id: 'kept-1',
    provider: 'kept',
    capabilities: {
      tools: true,
      images: false,
      files: false,
      reasoning: true,
      streaming: true,
      structuredOutput: false,
    },
    stream() {
      kept.push(rounds[kept.length] ?? [])
      return connect(kept.length - 1, 0)
    },
    background: {
      resume(opaque) {
        resumed++
        const { id, at } = positionOf(opaque)
        return connect(id, at)
      },
      async cancel(opaque) {
        canceled.push(String(positionOf(opaque).id))
      },
    },
  }
  return {
    model,
    canceled,
    get generations() {
      return kept.length
    },
    get resumed() {
      return resumed
    },
  }
}

const text = (words: string): ModelEvent[] => [...words].map((text) => ({ type: 'text', text }))
const here: ModelEvent = { type: 'checkpoint' }
const stop: ModelEvent = { type: 'done', finish: 'stop' }
const calls: ModelEvent = { type: 'done', finish: 'tool-calls' }
const call = (callId: string, n: number): ModelEvent[] => [
  { type: 'tool-input-start', callId, name: 'count' },
  ...[...JSON.stringify({ n })].map((delta): ModelEvent => ({ type: 'tool-input', callId, delta })),
  { type: 'tool-call', callId, name: 'count', input: { n } },
]

function counter(onRun = () => {}) {
  const ran: number[] = []
  const count = tool({
    name: 'count',
    description: 'Counts',
    input: z.object({ n: z.number() }),
    run: ({ n }) => {
      ran.push(n)
      onRun()
      return `counted ${n}`
    },
  })
  return { ran, count }
}

const options = { retry: { attempts: 3, baseMs: 0 } }

/** Text and calls between checkpoints, then an answer. */
const rounds = [
  [here, ...text('Let me see.'), here, ...call('a', 1), here, ...text('And'), ...call('b', 2), here, calls],
  [here, ...text('That makes three.'), here, stop],
]

async function play(breaks: readonly Break[]) {
  const kept = keptModel(rounds, breaks)
  const { ran, count } = counter()
  const run = agent({ model: kept.model, tools: [count], ...options }).stream('Count.')
  const events = await collect(run)
  return { kept, ran, events, result: await run.result }
}

const shown = (events: readonly RunEvent[]) =>
  of(events, 'text')
    .map(({ text: words }) => words)
    .join('')

const whole = 'Let me see.AndThat makes three.'

describe('a generation that the provider keeps', () => {
  test('continues where its connection broke, at any event', async () => {
    const { length } = rounds[0] ?? []
    for (let after = 1; after < length; after++) {
      const { kept, ran, events, result } = await play([{ after }])
      expect(shown(events), `after ${after}`).toBe(whole)
      expect(result).toMatchObject({ outcome: 'completed', text: 'That makes three.' })
      expect(ran).toEqual([1, 2])
      expect(pairs(result)).toEqual([
        ['a', 'counted 1'],
        ['b', 'counted 2'],
      ])
      expect(of(events, 'round-retract')).toEqual([])
      expect({ generations: kept.generations, resumed: kept.resumed }).toEqual({ generations: 2, resumed: 1 })
      expect(kept.canceled).toEqual([])
    }
  })

  test('continues however often it breaks, as long as it makes progress', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 12 }), { maxLength: 12 }), async (places) => {
        // Every second connection gets past the longest text between two checkpoints.
        const breaks = places.flatMap((after) => [{ after: after + 20 }, { after: 0 }])
        const { kept, ran, events, result } = await play(breaks)
        expect(result.outcome).toBe('completed')
        expect(shown(events)).toBe(whole)
        expect(ran).toEqual([1, 2])
        expect(kept.generations).toBe(2)
      }),
      { numRuns: sized(100) },
    ))

  test('continues in another process, from any event of the log', async () => {
    const { events: log } = await play([])
    for (let length = 1; length < log.length; length++) {
      const past = JSON.parse(JSON.stringify(log.slice(0, length))) as RunEvent[]
      // Before its first checkpoint a round is lost.
      if (past.at(-1)?.type === 'round-start') continue
      const generated = of(past, 'round-start').length
      const kept = keptModel(rounds)
      // These generations were already requested.
      for (let round = 0; round < generated; round++) kept.model.stream({} as never, {} as never)
      const { ran, count } = counter()
      const safe = { ...count, repeat: 'safe' as const }
      const run = agent({ model: kept.model, tools: [safe], ...options }).resume(past)
      const more = await collect(run)
      const result = await run.result
      const all = [...past, ...more]
      expect(result, `after ${length} events`).toMatchObject({
        outcome: 'completed',
        text: 'That makes three.',
      })
      expect(pairs(result).map(([, output]) => output)).toEqual(['counted 1', 'counted 2'])
      const answered = of(past, 'tool-result').length
      expect(ran).toHaveLength(2 - answered)
      expect(shown(all), `after ${length} events`).toBe(whole)
      expect(of(all, 'round-retract')).toEqual([])
      expect(kept.generations).toBe(2)
    }
  })

  test('marks the calls that a client runs once, wherever its connection broke', async () => {
    const count = { ...counter().count, run: undefined }
    const [events] = rounds as [ModelEvent[]]
    for (let after = 1; after < events.length; after++) {
      const { model } = keptModel([events], [{ after }])
      const shown = await collect(agent({ model, tools: [count], ...options }).stream('Count.'))
      for (const type of ['tool-input-start', 'tool-call'] as const)
        expect(of(shown, type), `after ${after}`).toMatchObject([
          { callId: 'a', wants: 'result' },
          { callId: 'b', wants: 'result' },
        ])
    }
  })

  test('that the provider no longer knows is generated again', async () => {
    const { kept, ran, events, result } = await play([{ after: 5 }, { after: 0, error: unknown }])
    expect(result.outcome).toBe('completed')
    expect(of(events, 'round-retract')).toHaveLength(1)
    expect(kept.generations).toBe(2)
    expect(kept.canceled).toEqual(['0'])
    // The second generation is the final answer here.
    expect(ran).toEqual([])
    expect(textOf(result.messages.at(-1) as never)).toBe('That makes three.')
  })

  test('keeps the closed part if one of its calls has started', async () => {
    const { ran, events, result } = await play([{ after: 22 }, { after: 0, error: unknown }])
    expect(result.outcome).toBe('completed')
    expect(ran).toEqual([1])
    expect(of(events, 'round-retract')).toEqual([])
    expect(of(events, 'round-end')[0]).toMatchObject({
      finish: 'interrupted',
      error: { message: 'not found' },
    })
  })

  test('that makes no more progress is canceled and generated again', async () => {
    const { kept, result } = await play([{ after: 5 }, { after: 0 }, { after: 0 }])
    expect(result.outcome).toBe('completed')
    expect(kept.canceled).toEqual(['0'])
  })

  test('is not generated again forever', async () => {
    const breaks = Array.from({ length: 40 }, (_, at) =>
      at % 2 ? { after: 0, error: unknown } : { after: 5 },
    )
    const kept = keptModel(
      Array.from({ length: 40 }, () => rounds[0] ?? []),
      breaks,
    )
    const run = agent({ model: kept.model, tools: [counter().count], ...options }).stream('Count.')
    await collect(run)
    expect(await run.result).toMatchObject({ outcome: 'failed', error: { message: 'not found' } })
    expect(kept.generations).toBeLessThanOrEqual(3)
  })

  test('that returns different text when it is resumed is retracted', async () => {
    const kept = keptModel([[here, ...text('One.'), here, stop], ...rounds.slice(1)], [{ after: 4 }])
    const { resume } = kept.model.background ?? {}
    const inconsistent: Model = {
      ...kept.model,
      background: {
        resume: async function* () {
          yield* text('Two.')
          yield stop
        },
        cancel: async (opaque) => void kept.model.background?.cancel(opaque, {}),
      },
    }
    expect(resume).toBeDefined()
    const run = agent({ model: inconsistent, ...options }).stream('Say.')
    const events = await collect(run)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'That makes three.' })
    expect(of(events, 'round-retract')).toMatchObject([
      { reason: expect.stringContaining('a different answer') },
    ])
  })

  test('that restarts after it was resumed is retracted', async () => {
    const again: ModelEvent = { type: 'restart', reason: 'begun again' }
    const kept = keptModel([[here, ...text('One.'), here, again, ...text('Three.'), stop]], [{ after: 6 }])
    const run = agent({ model: kept.model, ...options }).stream('Say.')
    const events = await collect(run)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Three.' })
    expect(of(events, 'round-retract')).toMatchObject([{ reason: 'begun again' }])
  })

  test('that ended empty is not resumed, but generated again', async () => {
    const kept = keptModel([
      [here, stop],
      [here, ...text('Hi.'), stop],
    ])
    const run = agent({ model: kept.model, ...options }).stream('Say.')
    await collect(run)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Hi.' })
    expect({ generations: kept.generations, resumed: kept.resumed }).toEqual({ generations: 2, resumed: 0 })
  })

  test('is canceled with its run', async () => {
    const model = keptModel([[here, ...text('Hi')]])
    const hanging: Model = {
      ...model.model,
      stream: async function* (_, { signal }) {
        yield { type: 'checkpoint', opaque: { provider: 'kept', data: { id: 0, at: 1 } } }
        yield { type: 'text', text: 'Hi' }
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      },
    }
    const run = agent({ model: hanging }).stream('Go.')
    for await (const { type } of run) if (type === 'text') run.cancel('enough')
    expect(await run.result).toMatchObject({ outcome: 'canceled', text: 'Hi' })
    expect(model.canceled).toEqual(['0'])
  })

  test('is canceled when the run is canceled after its process died', async () => {
    const { events: log } = await play([])
    const past = log.slice(0, log.findIndex(({ type }) => type === 'text') + 1)
    const kept = keptModel(rounds)
    kept.model.stream({} as never, {} as never)
    const run = agent({ model: kept.model, tools: [counter().count] }).resume(past)
    run.cancel('never mind')
    expect((await run.result).outcome).toBe('canceled')
    expect(kept.canceled).toEqual(['0'])
  })

  test('is generated again if the agent no longer has its model', async () => {
    const { events: log } = await play([])
    const past = log.slice(0, log.findIndex(({ type }) => type === 'text') + 1)
    const other = keptModel([rounds[1] ?? []])
    const run = agent({ model: { ...other.model, id: 'kept-2' }, ...options }).resume(past)
    const events = await collect(run)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'That makes three.' })
    expect(of(events, 'round-retract')).toHaveLength(1)
    expect(other.resumed).toBe(0)
  })
})

describe('an answer that restarts in the same stream', () => {
  const raw = (...lists: readonly (readonly ModelEvent[])[]): Model => {
    let next = 0
    return {
      ...keptModel([]).model,
      background: undefined,
      async *stream() {
        yield* lists[next++] ?? []
      },
    }
  }
  const restart: ModelEvent = { type: 'restart', reason: 'begun again' }

  test('is retracted, and the new answer counts', async () => {
    const { ran, count } = counter()
    const first = [
      ...text('Old words'),
      ...call('a', 7).slice(0, 4),
      restart,
      ...text('New.'),
      ...call('b', 1),
      calls,
    ]
    const model = raw(first, [...text('Done.'), stop])
    const run = agent({ model, tools: [count] }).stream('Go.')
    const events = await collect(run)
    expect(ran).toEqual([1])
    const kinds = events.map(({ type }) => type).filter((type) => type.startsWith('round-'))
    expect(kinds).toEqual([
      'round-start',
      'round-retract',
      'round-retry',
      'round-end',
      'round-start',
      'round-end',
    ])
    expect(of(events, 'round-retry')).toMatchObject([
      { attempt: 2, delayMs: 0, error: { message: 'begun again' } },
    ])
    const result = await run.result
    expect(result.outcome).toBe('completed')
    expect(JSON.stringify(result.messages)).not.toContain('Old')
  })

  test('is not retracted if nothing was shown', async () => {
    const run = agent({ model: raw([restart, ...text('Hi'), stop]) }).stream('Go.')
    expect(of(await collect(run), 'round-retract')).toEqual([])
    expect((await run.result).text).toBe('Hi')
  })

  test('keeps the closed part if one of its calls has started', async () => {
    const started = Promise.withResolvers<void>()
    const { ran, count } = counter(started.resolve)
    const model: Model = {
      ...raw([], []),
      async *stream({ messages }) {
        if (messages.some(({ role }) => role === 'tool')) {
          yield* [...text('Done.'), stop]
          return
        }
        yield* call('a', 7)
        await started.promise
        yield* [restart, ...call('b', 8), calls]
      },
    }
    const run = agent({ model, tools: [count], ...options }).stream('Go.')
    const events = await collect(run)
    expect(ran).toEqual([7])
    expect(of(events, 'round-retract')).toEqual([])
    expect(of(events, 'round-end')[0]).toMatchObject({
      finish: 'interrupted',
      error: { message: 'begun again' },
    })
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done.' })
  })
})

describe('an empty answer', () => {
  const silent = (...events: readonly ModelEvent[]) => [...events, stop]
  const ask = async (lists: readonly (readonly ModelEvent[])[]) => {
    const kept = keptModel(lists)
    const run = agent({ model: kept.model, ...options }).stream('Go.')
    const events = await collect(run)
    return { events, result: await run.result, asked: kept.generations }
  }

  test.each([
    ['nothing at all', [], stop],
    ['only reasoning', [{ type: 'reasoning', text: 'Hm.' } as const], stop],
    ['a finish for tool calls without calls', [], calls],
    ['an unknown finish', [], { type: 'done', finish: 'other' } as const],
  ])('is requested once more: %s', async (_, content, end) => {
    const { result, asked, events } = await ask([
      [...content, end],
      [...text('Hi'), stop],
    ])
    expect(result).toMatchObject({ outcome: 'completed', text: 'Hi' })
    expect(asked).toBe(2)
    expect(of(events, 'round-retry')).toMatchObject([{ error: { code: 'empty_answer' } }])
    expect(of(events, 'round-retract')).toHaveLength(content.length)
  })

  test('fails the run the second time', async () => {
    const { result, asked } = await ask([silent(), silent(), [...text('Hi'), stop]])
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'empty_answer', message: expect.stringContaining("'kept-1'") },
    })
    expect(asked).toBe(2)
  })

  test.each(['length', 'content-filter', 'refusal'] as const)(
    'is accepted if the finish reason explains it: %s',
    async (finish) => {
      const { asked, result } = await ask([[{ type: 'done', finish }]])
      expect(asked).toBe(1)
      expect(result.outcome).toBe(finish === 'length' ? 'truncated' : 'completed')
    },
  )

  test('is accepted if a provider tool did something', async () => {
    const opaque = { provider: 'kept', data: {} }
    const picture: ModelEvent = { type: 'provider-tool', callId: 'p', name: 'image', output: 'iVBO', opaque }
    expect(await ask([silent(picture)])).toMatchObject({ asked: 1, result: { outcome: 'completed' } })
    const summary: ModelEvent = { type: 'provider-tool', callId: 'p', name: 'compaction', opaque }
    expect(await ask([silent(summary), silent(summary)])).toMatchObject({
      asked: 2,
      result: { outcome: 'failed' },
    })
  })
})
