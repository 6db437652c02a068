import { describe, expect, test, vi } from 'vitest'
import type { Model, ModelEvent, ModelStream } from '../protocol/index.ts'
import { fakeClock } from '../testing/index.ts'
import { collect, failOnUnhandledRejections, of, rawModel, streamOf } from './agent.test-kit.ts'
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

/** A model that pushes its events in these lists, and never yields them one by one. */
function inLists(lists: readonly (readonly ModelEvent[])[], onEnd = () => {}): Model {
  const stream = (): ModelStream => ({
    async pushTo(onEvents) {
      for (const list of lists) if (!(await onEvents(list))) break
      onEnd()
    },
    [Symbol.asyncIterator]() {
      throw new Error('one by one is the slow way')
    },
  })
  return { id: 'lists', provider: 'test', capabilities, stream }
}

const request = { messages: [], tools: [], settings: {} }
const { signal } = new AbortController()

const options = { retry: { attempts: 1 } }

describe('a model that pushes its events', () => {
  test('may push many at once, and its run emits each event', async () => {
    const run = agent({
      model: inLists([
        [text('a'), text('b')],
        [text('c'), done],
      ]),
    }).stream('hi')
    const texts: string[] = []
    for await (const event of run) if (event.type === 'text') texts.push(event.text)
    expect(texts).toEqual(['a', 'b', 'c'])
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'abc' })
  })

  test('learns that nothing follows its end', async () => {
    const answers: boolean[] = []
    const model: Model = {
      ...inLists([]),
      stream: () => ({
        ...inLists([]).stream(request, { signal }),
        async pushTo(onEvents) {
          for (const list of [[text('a')], [done, text('b')], [text('c')]]) answers.push(await onEvents(list))
        },
      }),
    }
    const run = agent({ model }).stream('hi')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'a' })
    await vi.waitFor(() => expect(answers).toEqual([true, false, false]))
  })

  test('that yields them one by one is not read after its end, and is closed', async () => {
    const onReturn = vi.fn()
    const model = rawModel(async function* () {
      try {
        yield* [text('a'), done, text('b')]
      } finally {
        onReturn()
      }
    })
    const run = agent({ model }).stream('hi')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'a' })
    await vi.waitFor(() => expect(onReturn).toHaveBeenCalledOnce())
  })

  test('may push empty lists', async () => {
    const run = agent({ model: inLists([[], [text('a')], [], [done]]) }).stream('hi')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'a' })
  })

  test('may take longer for one list than idleMs', async () => {
    const clock = fakeClock()
    // Other work between two turns takes long.
    const slow = { ...clock, turn: async () => clock.advance(60) }
    const long = Array.from({ length: 2000 }, () => text('x'))
    const run = agent({ model: inLists([long, [done]]), idleMs: 100, clock: slow, ...options }).stream('hi')
    expect(await run.result).toMatchObject({ outcome: 'completed' })
  })

  test('and pushes only empty lists does not block timers', async () => {
    let asked = true
    const model: Model = {
      ...inLists([]),
      stream: () => ({
        async pushTo(onEvents) {
          while (asked) await onEvents([])
          await onEvents([text('a'), done])
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

  test('must push events', async () => {
    const run = agent({ model: inLists([[text('a'), 'b' as never]]), ...options }).stream('hi')
    expect((await run.result).error?.message).toBe("the model 'lists' sent b instead of an event")
  })

  test('is not read any further after a cancel in the middle of a list', async () => {
    const long = Array.from({ length: 5000 }, () => text('x'))
    const run = agent({ model: inLists([long, [done]]) }).stream('hi')
    for await (const event of run) {
      if (event.type !== 'text') continue
      run.cancel()
      break
    }
    const { outcome, messages } = await run.result
    expect(outcome).toBe('canceled')
    expect(JSON.stringify(messages).length).toBeLessThan(2000)
  })
})

test("the model's metadata is copied to round-end", async () => {
  const metadata = { id: 'resp_1', deep: { n: 1 } }
  const run = agent({ model: rawModel(() => streamOf(text('Hi.'), { ...done, metadata })) }).stream('go')
  await run.result
  metadata.deep.n = 2
  expect(of(await collect(run), 'round-end')).toMatchObject([{ metadata: { id: 'resp_1', deep: { n: 1 } } }])
})
