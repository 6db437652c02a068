import { describe, expect, test } from 'vitest'
import { memoryLog } from '../log/index.ts'
import type { MillraceError, ModelCall, ObserveCall } from '../protocol/index.ts'
import { foldLog } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import type { Tool } from '../tools/index.ts'
import { agent } from './agent.ts'
import { internalsOf } from './internals.ts'
import type { AgentOptions } from './options.ts'

interface Seen {
  readonly call: ModelCall
  ended: boolean
  error?: MillraceError | undefined
}

/** Runs an agent like a thread does. */
async function runObserved(options: AgentOptions, observe: ObserveCall) {
  const input = [{ role: 'user', content: 'Go on.' }] as const
  const state = foldLog([{ type: 'run-start', version: 2, runId: 'run_0', agent: 'a', input }])
  const log = memoryLog(state)
  const loop = internalsOf(agent({ ...options, retry: { baseMs: 0 } }), 'a').start(
    log,
    {},
    {
      context: undefined,
      commit: async () => {},
      observe,
      conversation: 'thread_1',
      parentTraces: [],
    },
  )
  await loop.ended
  return { events: log.events().map(({ type }) => type), runId: log.run.runId }
}

function observer() {
  const seen: Seen[] = []
  const observe: ObserveCall = (call) => {
    const one: Seen = { call, ended: false }
    seen.push(one)
    return {
      wire: { sent() {}, responded() {}, received() {} },
      end: ({ error }) => void Object.assign(one, { ended: true, error }),
    }
  }
  return { seen, observe }
}

const labelOf = ({ call: { round, attempt, model } }: Seen) => `${round}.${attempt} ${model.id}`

describe('an observer of a run', () => {
  test('is called for each round, and for each attempt', async () => {
    const { seen, observe } = observer()
    const overloaded = [{ error: { code: 'overloaded' as const } }]
    const model = scriptedModel([overloaded, overloaded, [{ call: 'none', input: {} }], 'Done.'])
    const { runId } = await runObserved({ model }, observe)
    expect(seen.map(labelOf)).toEqual(['1.1 scripted', '1.2 scripted', '1.3 scripted', '2.1 scripted'])
    expect(seen.map(({ call }) => call.request)).toEqual(model.requests)
    expect(seen.map(({ ended, error }) => [ended, error?.code])).toEqual([
      [true, 'overloaded'],
      [true, 'overloaded'],
      [true, undefined],
      [true, undefined],
    ])
    for (const { call } of seen) expect(call.runId).toBe(runId)
  })

  test('is called for the fallback model', async () => {
    const { seen, observe } = observer()
    const first = scriptedModel([[{ error: { code: 'auth' } }]], { id: 'first' })
    await runObserved({ model: [first, scriptedModel(['Yes.'], { id: 'second' })] }, observe)
    expect(seen.map(labelOf)).toEqual(['1.1 first', '1.2 second'])
  })

  test('is called for the model calls of a sub-agent', async () => {
    const { seen, observe } = observer()
    const helper = agent({ name: 'helper', model: scriptedModel(['Helped.'], { id: 'inner' }) })
    const tools: Tool[] = [helper.asTool({ description: 'Helps' })]
    const model = scriptedModel(script.tool('helper', { prompt: 'Help.' }, 'Done.'), { id: 'outer' })
    await runObserved({ model, tools }, observe)
    expect(seen.map(labelOf)).toEqual(['1.1 outer', '1.1 inner', '2.1 outer'])
    const [first, inner, last] = seen.map(({ call }) => call.runId)
    expect(first).toBe(last)
    expect(inner).not.toBe(first)
  })

  const wire = { sent() {}, responded() {}, received() {} }
  const fail = () => {
    throw new Error('not now')
  }
  test.each<[string, ObserveCall]>([
    ['at once', fail],
    ['at every delta', () => ({ wire: { sent: fail, responded: fail, received: fail }, end() {} })],
    ['at the end', () => ({ wire, end: fail })],
  ])('does no harm if it throws %s', async (_, observe) => {
    const model = () => scriptedModel([[{ call: 'none', input: {} }], 'Done.'])
    const alone = await runObserved({ model: model() }, observer().observe)
    const observed = await runObserved({ model: model() }, observe)
    expect(observed.events).toEqual(alone.events)
    expect(observed.events.at(-1)).toBe('run-end')
  })
})

test('a model gets a wire only if an observer has one', async () => {
  const optionsSeen: object[] = []
  const scripted = scriptedModel(() => 'Yes.')
  const model = {
    ...scripted,
    stream: (...[request, options]: Parameters<typeof scripted.stream>) => {
      optionsSeen.push(options)
      return scripted.stream(request, options)
    },
  }
  await agent({ model }).run('Hi')
  await runObserved({ model }, observer().observe)
  expect(optionsSeen.map(Object.keys)).toEqual([['signal'], ['signal', 'wire']])
})
