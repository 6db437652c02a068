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

/** Runs an agent as a thread does. */
async function runObserved(options: AgentOptions, observe: ObserveCall) {
  const input = [{ role: 'user', content: 'Go on.' }] as const
  const state = foldLog([{ type: 'run-start', version: 1, runId: 'run_0', agent: 'a', input }])
  const log = memoryLog(state)
  const loop = internalsOf(agent({ ...options, retry: { baseMs: 0 } }), 'a').start(
    log,
    {},
    {
      context: undefined,
      commit: async () => {},
      observe,
      conversation: 'thread_1',
      causes: [],
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
      wire: { sent() {}, answered() {}, received() {} },
      end: ({ error }) => void Object.assign(one, { ended: true, error }),
    }
  }
  return { seen, observe }
}

const placeOf = ({ call: { round, attempt, model } }: Seen) => `${round}.${attempt} ${model.id}`

describe('who observes a run', () => {
  test('is told of each round, and of each try of it', async () => {
    const { seen, observe } = observer()
    const overloaded = [{ error: { code: 'overloaded' as const } }]
    const model = scriptedModel([overloaded, overloaded, [{ call: 'none', input: {} }], 'Done.'])
    const { runId } = await runObserved({ model }, observe)
    expect(seen.map(placeOf)).toEqual(['1.1 scripted', '1.2 scripted', '1.3 scripted', '2.1 scripted'])
    expect(seen.map(({ call }) => call.request)).toEqual(model.requests)
    expect(seen.map(({ ended, error }) => [ended, error?.code])).toEqual([
      [true, 'overloaded'],
      [true, 'overloaded'],
      [true, undefined],
      [true, undefined],
    ])
    for (const { call } of seen) expect(call.runId).toBe(runId)
  })

  test('is told of the model that is fallen back to', async () => {
    const { seen, observe } = observer()
    const first = scriptedModel([[{ error: { code: 'auth' } }]], { id: 'first' })
    await runObserved({ model: [first, scriptedModel(['Yes.'], { id: 'second' })] }, observe)
    expect(seen.map(placeOf)).toEqual(['1.1 first', '1.2 second'])
  })

  test('is told of the calls of an agent that is a tool', async () => {
    const { seen, observe } = observer()
    const helper = agent({ name: 'helper', model: scriptedModel(['Helped.'], { id: 'inner' }) })
    const tools: Tool[] = [helper.asTool({ description: 'Helps' })]
    const model = scriptedModel(script.tool('helper', { prompt: 'Help.' }, 'Done.'), { id: 'outer' })
    await runObserved({ model, tools }, observe)
    expect(seen.map(placeOf)).toEqual(['1.1 outer', '1.1 inner', '2.1 outer'])
    const [first, inner, last] = seen.map(({ call }) => call.runId)
    expect(first).toBe(last)
    expect(inner).not.toBe(first)
  })

  const wire = { sent() {}, answered() {}, received() {} }
  const fail = () => {
    throw new Error('not now')
  }
  test.each<[string, ObserveCall]>([
    ['at once', fail],
    ['at every word', () => ({ wire: { sent: fail, answered: fail, received: fail }, end() {} })],
    ['at the end', () => ({ wire, end: fail })],
  ])('does no harm if it throws %s', async (_, observe) => {
    const model = () => scriptedModel([[{ call: 'none', input: {} }], 'Done.'])
    const alone = await runObserved({ model: model() }, observer().observe)
    const watched = await runObserved({ model: model() }, observe)
    expect(watched.events).toEqual(alone.events)
    expect(watched.events.at(-1)).toBe('run-end')
  })
})

test('a model is handed a wire only if somebody listens', async () => {
  const handed: object[] = []
  const scripted = scriptedModel(() => 'Yes.')
  const model = {
    ...scripted,
    stream: (...[request, options]: Parameters<typeof scripted.stream>) => {
      handed.push(options)
      return scripted.stream(request, options)
    },
  }
  await agent({ model }).run('Hi')
  await runObserved({ model }, observer().observe)
  expect(handed.map(Object.keys)).toEqual([['signal'], ['signal', 'wire']])
})
