import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ScriptedModel, ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import { recordingTelemetry, tracePath } from './recording-telemetry.test-kit.ts'

const talk = [
  { role: 'user', content: 'I am Ada.' },
  { role: 'assistant', content: 'Hello, Ada.' },
  { role: 'user', content: 'Who am I?' },
] as const

/** Records the trace it runs in each time it is called. */
function tracing(model: ScriptedModel, traces: string[]) {
  const note = (what: string) => void traces.push(`${what}: ${tracePath.getStore()}`)
  return {
    ...model,
    async *stream(...[request, options]: Parameters<ScriptedModel['stream']>) {
      note('asked')
      for await (const event of model.stream(request, options)) {
        if (event.type === 'done') note('done')
        yield event
      }
    },
  }
}

describe('work of a run happens in the trace of', () => {
  function recordingTools(places: string[]) {
    const { telemetry } = recordingTelemetry()
    const note = (what: string) => void places.push(`${what}: ${tracePath.getStore()}`)
    const look = tool({
      name: 'look',
      description: 'Looks',
      input: z.object({}),
      approve() {
        note('approve')
        return false
      },
      async run(_, { callId }) {
        note(`${callId} begins`)
        await new Promise(setImmediate)
        note(`${callId} ends`)
      },
    })
    return { telemetry, note, look }
  }

  test('the run for hooks, the call for tools, and the model call for the model', async () => {
    const traces: string[] = []
    const { telemetry, note, look } = recordingTools(traces)
    const rounds: ScriptRound[] = [[{ call: 'look' }, { call: 'look' }, { text: 'Well.' }], 'Done.']
    const later = async (what: string) => {
      await undefined
      note(what)
    }
    const recordingAgent = agent({
      name: 'guide',
      model: tracing(scriptedModel(rounds), traces),
      tools: [look],
      toolConcurrency: 1,
      telemetry,
      async prepareRound() {
        await later('prepareRound')
      },
      async beforeCall() {
        await later('beforeCall')
      },
      async afterCall() {
        await later('afterCall')
      },
    })
    await tracePath.run('the caller', () => recordingAgent.run('Go.'))
    const at = (what: string) => traces.filter((one) => one.startsWith(`${what}: `))
    expect(at('prepareRound')).toEqual(['prepareRound: guide', 'prepareRound: guide'])
    expect(at('asked')).toEqual(['asked: guide 1.1', 'asked: guide 2.1'])
    expect(at('done')).toEqual(['done: guide 1.1', 'done: guide 2.1'])
    for (const hook of ['approve', 'beforeCall', 'afterCall'])
      expect(at(hook)).toEqual([`${hook}: guide`, `${hook}: guide`])
    for (const id of ['call_1', 'call_2'])
      expect([...at(`${id} begins`), ...at(`${id} ends`)]).toEqual([
        `${id} begins: guide/${id}`,
        `${id} ends: guide/${id}`,
      ])
  })

  test('the run and the call also after an approval and for a summary', async () => {
    const traces: string[] = []
    const { telemetry, note, look } = recordingTools(traces)
    const asks = { ...look, approve: () => true }
    const model = tracing(
      scriptedModel([[{ call: 'look' }], [{ error: { code: 'context_overflow' } }], 'Brief.', 'Done.']),
      traces,
    )
    const recordingAgent = agent({
      name: 'guide',
      model,
      tools: [asks],
      telemetry,
      async compact({ ask }) {
        note('compact')
        return { keep: 3, summary: await ask({ prompt: 'In short?' }) }
      },
    })
    const first = recordingAgent.stream(talk)
    await first.result
    const decisions = [{ callId: 'call_1', approved: true }]
    await tracePath.run('the caller', () => first.resume(decisions).result)
    expect(traces).toEqual([
      'asked: guide 1.1',
      'done: guide 1.1',
      'call_1 begins: guide/call_1',
      'call_1 ends: guide/call_1',
      'asked: guide 2.1',
      'compact: guide',
      'asked: guide aside 2.1',
      'done: guide aside 2.1',
      'asked: guide 2.2',
      'done: guide 2.2',
    ])
  })

  test('their own call for overlapping calls', async () => {
    const { telemetry } = recordingTelemetry()
    const all = Promise.withResolvers<void>()
    const traces: string[] = []
    const meet = tool({
      name: 'meet',
      description: 'Waits for the others',
      input: z.object({}),
      async run(_, { callId }) {
        traces.push(callId)
        if (traces.length === 3) all.resolve()
        await all.promise
        return tracePath.getStore()
      },
    })
    const rounds: ScriptRound[] = [[{ call: 'meet' }, { call: 'meet' }, { call: 'meet' }], 'Done.']
    const run = agent({ name: 'guide', model: scriptedModel(rounds), tools: [meet], telemetry }).stream('Go.')
    const results = of(await collect(run), 'tool-result').map(({ callId, output }) => [callId, output])
    expect(results.sort()).toEqual(
      ['call_1', 'call_2', 'call_3'].map((id) => [id, [{ type: 'text', text: `guide/${id}` }]]),
    )
  })
})
