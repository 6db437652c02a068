import { describe, expect, test, vi } from 'vitest'
import { countWork } from '../../../../test/work-count.ts'
import type { Model, ModelEvent, RunEvent } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import { tool } from '../tools/index.ts'
import { collect, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'

const looking = (run: () => unknown) =>
  tool({ name: 'look', description: 'Looks', input: { jsonSchema: { type: 'object' } }, run })
const look = looking(() => 'seen')

/** Streams these steps in its first round, then answers. */
function modelOf(first: Iterable<ModelEvent>): Model {
  return {
    id: 'm',
    provider: 'test',
    capabilities: {
      streaming: true,
      tools: true,
      reasoning: false,
      images: false,
      files: false,
      structuredOutput: false,
    },
    async *stream({ messages }) {
      if (messages.length === 1) yield* first
      else yield { type: 'text', text: 'done' }
      yield { type: 'done', finish: 'stop' }
    },
  }
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

const calls = (count: number, id = (index: number) => `c${index}`) =>
  numbers(count).map((index): ModelEvent => {
    return { type: 'tool-call', callId: id(index), name: 'look', input: { index } }
  })

/** Calls whose arguments are interleaved. */
const woven = (count: number): ModelEvent[] => [
  ...numbers(count).map((index): ModelEvent => {
    return { type: 'tool-input-start', callId: `c${index}`, name: 'look' }
  }),
  ...['{', '}'].flatMap((delta) =>
    numbers(count).map((index): ModelEvent => ({ type: 'tool-input', callId: `c${index}`, delta })),
  ),
]

const options = { maxCallsPerRound: 10_000, repeatLimits: false } as const

/** How many array elements are visited for a round. */
async function workOf(events: readonly ModelEvent[], waits = false): Promise<number> {
  const wait = looking(() => systemClock.turn().then(() => 'seen'))
  const count = countWork()
  try {
    const run = agent({ model: modelOf(events), tools: [waits ? wait : look], ...options }).stream('Look.')
    expect((await run.result).outcome).toBe('completed')
    return count.work.elements
  } finally {
    count.stop()
  }
}

describe('ten times the calls in one round take ten times the work', () => {
  test.each([
    ['that end at once', calls, false],
    ['that wait', calls, true],
    ['with interleaved arguments', woven, false],
  ])('%s', async (_, round, waits) => {
    await workOf(round(10), waits)
    const small = await workOf(round(200), waits)
    expect((await workOf(round(2000), waits)) / small).toBeLessThan(13)
  })

  test('with the same id', async () => {
    const has = vi.spyOn(Set.prototype, 'has')
    const lookups = async (count: number) => {
      has.mockClear()
      const events = await collect(
        agent({ model: modelOf(calls(count, () => 'call_1')), tools: [look], ...options }).stream('Look.'),
      )
      const spent = has.mock.calls.length
      expect(of(events, 'tool-call').map(({ callId }) => callId)).toEqual(
        numbers(count).map((index) => (index === 0 ? 'call_1' : `call_1_${index + 1}`)),
      )
      return spent
    }
    const small = await lookups(100)
    expect((await lookups(1000)) / small).toBeLessThan(20)
    has.mockRestore()
  })
})

/** The most events that were emitted without yielding. */
function mostInOneTurn() {
  let count = 0
  let most = 0
  const timer = setInterval(() => {}, 1)
  const pass = () => {
    count = 0
    immediate = setImmediate(pass)
  }
  let immediate = setImmediate(pass)
  return {
    happened() {
      most = Math.max(most, ++count)
    },
    stop() {
      clearInterval(timer)
      clearImmediate(immediate)
      return most
    },
  }
}

describe('the run yields', () => {
  test('between the calls of a resumed log', async () => {
    const log: RunEvent[] = [
      {
        type: 'run-start',
        version: 1,
        runId: 'r',
        agent: 'agent',
        input: [{ role: 'user', content: 'Look.' }],
      },
      { type: 'round-start', round: 1, model: 'm' },
      ...(calls(2000) as RunEvent[]),
      { type: 'round-end', round: 1, model: 'm', finish: 'tool-calls' },
    ]
    const { happened, stop } = mostInOneTurn()
    const { outcome } = await agent({ model: modelOf([]), tools: [looking(happened)], ...options }).resume(
      log,
    ).result
    expect(outcome).toBe('completed')
    expect(stop()).toBeLessThan(200)
  })

  test('between the calls that a model started but did not close', async () => {
    const started = woven(2000).slice(0, 2000)
    const { happened, stop } = mostInOneTurn()
    const run = agent({ model: modelOf(started), tools: [look], ...options }).stream('Look.')
    for await (const event of run) if (event.type === 'tool-result') happened()
    expect(stop()).toBeLessThan(600)
  })
})
