import { describe, expect, test, vi } from 'vitest'
import type { Model, ModelEvent, ModelStream } from '../protocol/index.ts'
import { fakeClock } from '../testing/index.ts'
import { collect, failOnUnhandledRejections, of, rawModel, saying } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

const text = (words: string): ModelEvent => ({ type: 'text', text: words })
const done: ModelEvent = { type: 'done', finish: 'stop' }

const capabilities = {
  tools: true,
  images: false,
  files: false,
  reasoning: false,
  streaming: true,
  structuredOutput: false,
}

/** A model that tells its events in these lists, and nothing one by one. */
function inLists(lists: readonly (readonly ModelEvent[])[], onReturn = () => {}): Model {
  const stream = (): ModelStream => ({
    async *batches() {
      try {
        yield* lists
      } finally {
        onReturn()
      }
    },
    [Symbol.asyncIterator]() {
      throw new Error('one by one is the slow way')
    },
  })
  return { id: 'lists', provider: 'test', capabilities, stream }
}

const options = { retry: { attempts: 1 } }

describe('a model that tells its events in lists', () => {
  test('is heard by the list, and its run tells each', async () => {
    const run = agent({
      model: inLists([
        [text('a'), text('b')],
        [text('c'), done],
      ]),
    }).stream('hi')
    const told: string[] = []
    for await (const event of run) if (event.type === 'text') told.push(event.text)
    expect(told).toEqual(['a', 'b', 'c'])
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'abc' })
  })

  test('is not listened to after its end, and may let go then', async () => {
    const onReturn = vi.fn()
    const model = inLists([[text('a'), done, text('b')], [text('c')]], onReturn)
    const run = agent({ model }).stream('hi')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'a' })
    await vi.waitFor(() => expect(onReturn).toHaveBeenCalledOnce())
  })

  test('may have nothing to tell for a while', async () => {
    const run = agent({ model: inLists([[], [text('a')], [], [done]]) }).stream('hi')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'a' })
  })

  test('may take longer over one list than it may be silent', async () => {
    const clock = fakeClock()
    // Whoever is let in between takes his time.
    const slow = { ...clock, turn: async () => clock.advance(60) }
    const long = Array.from({ length: 2000 }, () => text('x'))
    const run = agent({ model: inLists([long, [done]]), idleMs: 100, clock: slow, ...options }).stream('hi')
    expect(await run.result).toMatchObject({ outcome: 'completed' })
  })

  test('and never has anything to tell lets others have their turn', async () => {
    let asked = true
    const model: Model = {
      ...inLists([]),
      stream: () => ({
        async *batches() {
          while (asked) yield []
          yield [text('a'), done]
        },
        async *[Symbol.asyncIterator]() {},
      }),
    }
    const run = agent({ model }).stream('hi')
    setImmediate(() => {
      asked = false
    })
    expect((await run.result).outcome).toBe('completed')
  })

  test('must end with its terminal event', async () => {
    const run = agent({ model: inLists([[text('a')]]), ...options }).stream('hi')
    expect((await run.result).error).toMatchObject({
      code: 'stream_error',
      message: "the stream of 'lists' ended without its terminal event",
    })
  })

  test('must put events into them', async () => {
    const run = agent({ model: inLists([[text('a'), 'b' as never]]), ...options }).stream('hi')
    expect((await run.result).error?.message).toBe("the model 'lists' sent b for an event")
  })

  test('is not heard any more once the run is cancelled, in the middle of a list', async () => {
    const long = Array.from({ length: 5000 }, () => text('x'))
    const run = agent({ model: inLists([long, [done]]) }).stream('hi')
    for await (const event of run) {
      if (event.type !== 'text') continue
      run.cancel()
      break
    }
    const { outcome, messages } = await run.result
    expect(outcome).toBe('cancelled')
    expect(JSON.stringify(messages).length).toBeLessThan(2000)
  })
})

test('what a model tells of its answer stands at the end of the round, as a copy', async () => {
  const metadata = { id: 'resp_1', deep: { n: 1 } }
  const run = agent({ model: rawModel(() => saying(text('Hi.'), { ...done, metadata })) }).stream('go')
  await run.result
  metadata.deep.n = 2
  expect(of(await collect(run), 'round-end')).toMatchObject([{ metadata: { id: 'resp_1', deep: { n: 1 } } }])
})
