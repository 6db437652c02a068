import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ScriptedModel, ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import { lookout, place } from './lookout.test-kit.ts'

const talk = [
  { role: 'user', content: 'I am Ada.' },
  { role: 'assistant', content: 'Hello, Ada.' },
  { role: 'user', content: 'Who am I?' },
] as const

/** Notes where it is each time that it is asked for something. */
function placed(model: ScriptedModel, places: string[]) {
  const note = (what: string) => void places.push(`${what}: ${place.getStore()}`)
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

describe('what is done in a run is done inside', () => {
  function watched(places: string[]) {
    const { telemetry } = lookout()
    const note = (what: string) => void places.push(`${what}: ${place.getStore()}`)
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

  test('hooks in the run, tools in their call, and the model in its own', async () => {
    const places: string[] = []
    const { telemetry, note, look } = watched(places)
    const rounds: ScriptRound[] = [[{ call: 'look' }, { call: 'look' }, { text: 'Well.' }], 'Done.']
    const later = async (what: string) => {
      await undefined
      note(what)
    }
    const watching = agent({
      name: 'guide',
      model: placed(scriptedModel(rounds), places),
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
    await place.run('the caller', () => watching.run('Go.'))
    const at = (what: string) => places.filter((one) => one.startsWith(`${what}: `))
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

  test('what a person has allowed, and a summary, too', async () => {
    const places: string[] = []
    const { telemetry, note, look } = watched(places)
    const asks = { ...look, approve: () => true }
    const model = placed(
      scriptedModel([[{ call: 'look' }], [{ error: { code: 'context_overflow' } }], 'Brief.', 'Done.']),
      places,
    )
    const watching = agent({
      name: 'guide',
      model,
      tools: [asks],
      telemetry,
      async shorten({ ask }) {
        note('shorten')
        return { keep: 3, summary: await ask({ prompt: 'In short?' }) }
      },
    })
    const first = watching.stream(talk)
    await first.result
    const decisions = [{ callId: 'call_1', approved: true }]
    await place.run('the caller', () => first.resume(decisions).result)
    expect(places).toEqual([
      'asked: guide 1.1',
      'done: guide 1.1',
      'call_1 begins: guide/call_1',
      'call_1 ends: guide/call_1',
      'asked: guide 2.1',
      'shorten: guide',
      'asked: guide aside 2.1',
      'done: guide aside 2.1',
      'asked: guide 2.2',
      'done: guide 2.2',
    ])
  })

  test('calls that overlap, each in its own', async () => {
    const { telemetry } = lookout()
    const all = Promise.withResolvers<void>()
    const places: string[] = []
    const meet = tool({
      name: 'meet',
      description: 'Waits for the others',
      input: z.object({}),
      async run(_, { callId }) {
        places.push(callId)
        if (places.length === 3) all.resolve()
        await all.promise
        return place.getStore()
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
