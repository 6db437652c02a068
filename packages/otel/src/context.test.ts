import { setTimeout as later } from 'node:timers/promises'
import { context, ROOT_CONTEXT } from '@opentelemetry/api'
import type { Model } from 'millrace'
import { agent, memoryStore, millrace, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { heldTool, untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import type { Measured } from './otel.test-kit.ts'
import { idOf, linksOf, measured, named, only, treeOf, useContextManager } from './otel.test-kit.ts'

useContextManager()

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** User code: creates a span below the active one. */
const mark = (seen: Measured, name: string) => seen.tracerProvider.getTracer('mine').startSpan(name).end()

/** Runs `work` inside a span of the caller, such as a request. */
const during = <Value>(seen: Measured, name: string, work: () => Promise<Value>): Promise<Value> =>
  seen.tracerProvider.getTracer('mine').startActiveSpan(name, async (span) => {
    try {
      return await work()
    } finally {
      span.end()
    }
  })

test('spans created in a tool are below its call, however it waits, with three at once', async () => {
  const seen = measured()
  const input = z.object({})
  const gathered = Promise.withResolvers<void>()
  let count = 0
  const gather = () => {
    if (++count === 3) gathered.resolve()
    return gathered.promise
  }
  const tools = [
    tool({
      name: 'awaiting',
      description: 'Awaits',
      input,
      run: async () => {
        mark(seen, 'awaiting at once')
        await gather()
        await undefined
        mark(seen, 'awaiting later')
      },
    }),
    tool({
      name: 'yielding',
      description: 'Yields',
      input,
      async *run() {
        mark(seen, 'yielding at once')
        await gather()
        yield 1
        mark(seen, 'yielding between')
        yield 2
        mark(seen, 'yielding later')
      },
    }),
    tool({
      name: 'timed',
      description: 'Sets a timer',
      input,
      run: async () => {
        await gather()
        await new Promise<void>((resolve) => {
          setTimeout(() => {
            mark(seen, 'timed in a timer')
            resolve()
          }, 1)
        })
        await later(1)
        mark(seen, 'timed after a timer')
      },
    }),
  ]
  const model = scriptedModel([tools.map(({ name }) => ({ call: name })), 'Done.'], { id: 'gpt' })
  await agent({ name: 'desk', model, tools, telemetry: seen.telemetry }).run('go')
  expect(treeOf(seen.spans())).toEqual([
    'invoke_agent desk',
    '  chat gpt',
    '  execute_tool awaiting',
    '    awaiting at once',
    '    awaiting later',
    '  execute_tool yielding',
    '    yielding at once',
    '    yielding between',
    '    yielding later',
    '  execute_tool timed',
    '    timed in a timer',
    '    timed after a timer',
    '  chat gpt',
  ])
})

test('work that a call does after its result belongs to the run', () => {
  const seen = measured()
  const run = seen.telemetry.startRun({ runId: 'r', agent: 'desk', inThread: false, parentTraces: [] })
  const about = { callId: 'c', name: 'look' }
  run.event({ type: 'tool-start', ...about, attempt: 1 })
  run.runInContext('c', () => mark(seen, 'during'))
  run.event({ type: 'tool-result', ...about, status: 'ok', output: [], isError: false, ms: 1, overlapMs: 0 })
  run.runInContext('c', () => mark(seen, 'after'))
  run.handedOver()
  expect(treeOf(seen.spans())).toEqual(['invoke_agent desk', '  execute_tool look', '    during', '  after'])
})

test('spans created in hooks are below the run, and those of a model below its call', async () => {
  const seen = measured()
  const scripted = scriptedModel([[{ text: 'Well.' }, { call: 'look' }], 'Done.'], { id: 'gpt' })
  const model: Model = {
    ...scripted,
    async *stream(request, options) {
      mark(seen, 'request')
      for await (const event of scripted.stream(request, options)) {
        if (event.type === 'text') mark(seen, 'word')
        yield event
      }
    },
  }
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: z.object({}),
    approve: () => {
      mark(seen, 'approve')
      return false
    },
    run: () => 'seen',
  })
  await agent({
    name: 'desk',
    model,
    tools: [look],
    prepareRound: async () => {
      await undefined
      mark(seen, 'prepareRound')
      return undefined
    },
    beforeCall: async () => {
      await undefined
      mark(seen, 'beforeCall')
      return undefined
    },
    afterCall: () => {
      mark(seen, 'afterCall')
      return undefined
    },
    telemetry: seen.telemetry,
  }).run('go')
  const spans = seen.spans()
  const run = only(spans, 'invoke_agent desk')
  const parents = ['prepareRound', 'beforeCall', 'approve'].flatMap((name) =>
    named(spans, name).map((span) => span.parentSpanContext?.spanId),
  )
  expect(parents).toEqual(Array(4).fill(idOf(run)))
  expect(named(spans, 'afterCall')).toHaveLength(1)
  expect(only(spans, 'afterCall').spanContext().traceId).toBe(run.spanContext().traceId)
  const calls = named(spans, 'chat gpt').map(idOf)
  for (const name of ['request', 'word'])
    expect(named(spans, name).map((span) => span.parentSpanContext?.spanId)).toEqual(calls)
})

test("a run is below the caller's span, or a root without one", async () => {
  const seen = measured()
  const desk = () =>
    agent({ name: 'desk', model: scriptedModel(['Hello.'], { id: 'gpt' }), telemetry: seen.telemetry })
  await during(seen, 'request', () => desk().run('hello'))
  await desk().run('hello')
  expect(treeOf(seen.spans())).toEqual([
    'request',
    '  invoke_agent desk',
    '    chat gpt',
    'invoke_agent desk',
    '  chat gpt',
  ])
  // Code that reads the run is not part of it.
  await during(seen, 'reading', async () => {
    for await (const event of desk().stream('hello')) if (event.type === 'text') mark(seen, 'reader')
  })
  const reader = only(seen.spans(), 'reader')
  expect(reader.parentSpanContext?.spanId).toBe(idOf(only(seen.spans(), 'reading')))
})

describe('a run of a thread', () => {
  /**
   * A thread whose first run waits for its tool to be released; each run has its own model call.
   */
  function desk() {
    const seen = measured()
    const slow = heldTool('slow')
    const model = scriptedModel((_, index) => (index === 0 ? [{ call: 'slow' }] : 'Hello.'), { id: 'gpt' })
    const store = memoryStore()
    const app = millrace({
      agents: agent({ name: 'desk', model, tools: [slow.tool] }),
      store,
      telemetry: seen.telemetry,
    })
    open.push(store, app)
    const thread = app.thread('t')
    return { seen, slow, thread }
  }

  test('is below the span that was active when its input was sent, whatever woke the worker', async () => {
    const { seen, slow, thread } = desk()
    await during(seen, 'request 1', () => thread.send('one'))
    await slow.startedTimes(1)
    await during(seen, 'request 2', () => thread.send('two'))
    // No span is active here, although the worker still runs in the context of the first request.
    await context.with(ROOT_CONTEXT, () => thread.send('three'))
    slow.runs[0]?.release()
    await untilIdle(thread)
    expect(treeOf(seen.spans())).toEqual([
      'request 1',
      '  invoke_agent desk',
      '    chat gpt',
      '    execute_tool slow',
      '    chat gpt',
      'request 2',
      '  invoke_agent desk',
      '    chat gpt',
      'invoke_agent desk',
      '  chat gpt',
    ])
  })

  test('is below the span passed with its input, such as that of another process, if none is active', async () => {
    const { seen, slow, thread } = desk()
    const traceId = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    await thread.send('one', { trace: `00-${traceId}-bbbbbbbbbbbbbbbb-01` })
    await slow.startedTimes(1)
    slow.runs[0]?.release()
    await untilIdle(thread)
    const run = only(seen.spans(), 'invoke_agent desk')
    expect(run.parentSpanContext).toMatchObject({ traceId, spanId: 'bbbbbbbbbbbbbbbb', isRemote: true })
    expect(run.spanContext().traceId).toBe(traceId)
  })

  test('that answers several inputs is below the last, which started it, and links to the others', async () => {
    const { seen, slow, thread } = desk()
    await during(seen, 'request 1', () => thread.send('one'))
    await slow.startedTimes(1)
    await during(seen, 'request 2', () => thread.send('two'))
    await during(seen, 'request 3', () => thread.send('three', { mode: 'interrupt' }))
    await untilIdle(thread)
    const spans = seen.spans()
    const [first, second] = named(spans, 'invoke_agent desk')
    expect(first?.attributes['millrace.run.outcome']).toBe('canceled')
    expect(second?.parentSpanContext?.spanId).toBe(idOf(only(spans, 'request 3')))
    expect(second && linksOf(second, spans)).toEqual(['request 2'])
  })

  test('includes the spans of its own tools only', async () => {
    const seen = measured()
    const look = tool({
      name: 'look',
      description: 'Looks',
      input: z.object({}),
      run: async () => {
        await later(1)
        mark(seen, 'inside')
      },
    })
    const model = scriptedModel(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'look' }]),
      { id: 'gpt' },
    )
    const store = memoryStore()
    const app = millrace({
      agents: agent({ name: 'desk', model, tools: [look] }),
      store,
      telemetry: seen.telemetry,
      context: () => mark(seen, 'context'),
    })
    open.push(store, app)
    await during(seen, 'request 1', () => app.thread('a').send('go'))
    await during(seen, 'request 2', () => app.thread('b').send('go'))
    await untilIdle(app.thread('a'))
    await untilIdle(app.thread('b'))
    const spans = seen.spans().filter(({ name }) => name !== 'context')
    const branch = [
      '  invoke_agent desk',
      '    chat gpt',
      '    execute_tool look',
      '      inside',
      '    chat gpt',
    ]
    expect(treeOf(spans)).toEqual(['request 1', ...branch, 'request 2', ...branch])
  })
})
