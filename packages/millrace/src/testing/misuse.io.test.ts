import { faultPlan, providerSimulator, recordCassette, replayCassette } from '@millrace/simulator'
import { describe, expect, test } from 'vitest'
import { ask, wires } from '../../../simulator/src/raw-client.test-kit.ts'
import type { ModelRequest } from '../protocol/index.ts'
import type { ScriptRound } from './script.ts'
import { scriptedModel } from './scripted-model.ts'

const cassette = { version: 1, exchanges: [] } as const
const upstream = 'http://127.0.0.1:1'

/**
 * Returns the message of the `invalid_input` error that misuse throws or rejects with, never a
 * TypeError.
 */
async function errorFrom(misuse: () => unknown) {
  try {
    const created = await misuse()
    await (created as { close?: () => Promise<void> }).close?.()
  } catch (error) {
    expect(error).toMatchObject({ name: 'MillraceError', code: 'invalid_input' })
    return (error as Error).message
  }
  return undefined
}

describe('unknown and invalid options are rejected', () => {
  test.each<[string, () => unknown, string]>([
    ['fault', () => providerSimulator([], { fault: [] } as never), "did you mean 'faults'?"],
    [
      'null',
      () => providerSimulator([], null as never),
      'the options of providerSimulator() must be an object',
    ],
    ['checks', () => providerSimulator([], { checks: 'no' as never }), "'checks' must be true or false"],
    ['apiKey', () => providerSimulator([], { apiKey: '' }), "'apiKey' must be text"],
    ['clock', () => providerSimulator([], { clock: {} as never }), "'clock' must be a clock"],
    ['sizes', () => providerSimulator([], { deltaChars: 'x' as never }), 'deltaChars must be at least 1'],
    ['delta', () => scriptedModel([], { delta: 3 } as never), "did you mean 'deltaChars'?"],
    [
      'nonsense',
      () => scriptedModel([], { zzz: 3 } as never),
      "'zzz' does not exist (available: id, capabilities",
    ],
    ['null', () => scriptedModel([], null as never), 'the options of scriptedModel() must be an object'],
    ['pace', () => scriptedModel([], { paceMs: -1 }), "'paceMs' must be a number of milliseconds, not -1"],
    [
      'nothing',
      () => recordCassette(undefined as never),
      'the options of recordCassette() must be an object',
    ],
    ['no upstream', () => recordCassette({} as never), 'upstream is missing'],
    ['upstream', () => recordCassette({ upstream: 7 as never }), "'upstream' must be a URL such as"],
    ['secret', () => recordCassette({ upstream, secret: 'x' } as never), "did you mean 'secrets'?"],
    [
      'secrets',
      () => recordCassette({ upstream, secrets: 'x' as never }),
      "'secrets' must be an array of strings",
    ],
    ['no text', () => recordCassette({ upstream, secrets: ['a', 7 as never] }), 'not a number at [1]'],
    // An empty secret would match everywhere.
    ['empty secret', () => recordCassette({ upstream, secrets: ['a', ''] }), 'an empty string at [1]'],
    ['blank secret', () => recordCassette({ upstream, secrets: [' '] }), 'an empty string at [0]'],
    ['pace', () => replayCassette(cassette, { pace: true } as never), "did you mean 'paced'?"],
    ['paced', () => replayCassette(cassette, { paced: 1 as never }), "'paced' must be true or false"],
    [
      'null',
      () => replayCassette(cassette, null as never),
      'the options of replayCassette() must be an object',
    ],
    ['kind', () => faultPlan(1, { kind: 'html' } as never), "did you mean 'kinds'?"],
    [
      'kinds',
      () => faultPlan(1, { kinds: 'html' as never }),
      '\'kinds\' must be a list of kinds, not "html"',
    ],
    [
      'a kind',
      () => faultPlan(1, { kinds: ['stal' as never] }),
      "unknown fault kind 'stal': did you mean 'stall'?",
    ],
    ['null', () => faultPlan(1, null as never), 'the options of faultPlan() must be an object'],
    ['no seed', () => faultPlan(undefined as never), 'the seed must be a number or a string, not undefined'],
  ])('%s', async (_, misuse, message) => {
    expect(await errorFrom(misuse)).toContain(message)
  })
})

const badRounds: [unknown, string][] = [
  [null, 'rounds[0] must be text or a list of steps'],
  [5, "rounds[0] must be text or a list of steps such as [{ text: '…' }], not a number"],
  [{ text: 'a' }, 'rounds[0] must be text or a list of steps'],
  [[{ text: 'a' }, null], "rounds[0][1] must be a step such as { text: '…' }, not null"],
  [['a'], "rounds[0][0] must be a step such as { text: '…' }, not a string"],
  [[{ text: 'a' }, { txt: 'a' }], 'rounds[0][1] must be a step with one of text, reasoning, call, '],
  [[{ txt: 'a' }], "not { txt }: did you mean 'text'?"],
  [[{}], 'rounds[0][0] must be a step with one of'],
  [[{ text: 5 }], 'rounds[0][0].text must be a string, not a number'],
  [[{ call: '' }], 'rounds[0][0].call must be the name of a tool'],
  [
    [{ call: 'a', inputs: {} }],
    "rounds[0][0].inputs does not exist in a step with call: did you mean 'input'?",
  ],
  [[{ call: 'a', input: [] }], 'rounds[0][0].input must be an object, not an array'],
  [[{ call: 'a', input: { n: 1n } }], 'rounds[0][0].input must be plain JSON'],
  [[{ pause: -1 }], 'rounds[0][0].pause must be a number of milliseconds, not -1'],
  [[{ error: 5 }], 'rounds[0][0].error must be a message or the fields of an error'],
  [[{ hang: 'yes' }], 'rounds[0][0].hang must be true, not "yes"'],
  [[{ finish: 'done' }], 'rounds[0][0].finish must be one of stop, tool-calls, '],
  [[{ usage: {}, finish: 'stop' }], 'rounds[0][0] has both usage and finish: make each a separate step'],
]

describe('an invalid script', () => {
  test.each([[undefined], ['hello'], [{ 0: 'hello' }]])('%j is rejected right away', async (script) => {
    for (const make of [scriptedModel, providerSimulator])
      expect(await errorFrom(() => make(script as never))).toMatch(
        /^(scriptedModel|providerSimulator)\(\) needs a script: a list of rounds such as \['Hello\.'\]/,
      )
  })

  test.each(badRounds)('with %o in it is rejected right away, with the position', async (round, message) => {
    for (const make of [scriptedModel, providerSimulator])
      expect(await errorFrom(() => make([round] as never))).toContain(message)
    expect(await errorFrom(() => scriptedModel(['a', round] as never))).toContain(
      message.replace('rounds[0]', 'rounds[1]'),
    )
  })

  test.each(badRounds)('%o returned by a function fails when it is played', async (round, message) => {
    const request: ModelRequest = { messages: [{ role: 'user', content: 'hi' }], tools: [], settings: {} }
    const model = scriptedModel(() => round as ScriptRound)
    expect(() => model.stream(request, { signal: new AbortController().signal })).toThrow(
      expect.objectContaining({ code: 'llm_error', message: expect.stringContaining(message) }),
    )
    await using sim = await providerSimulator(() => round as ScriptRound)
    for (const [index, wire] of wires.entries()) {
      const response = await ask(sim, wire)
      const { error } = await response.json()
      expect(response.status).toBe(500)
      expect(error.message).toContain(message.replace('rounds[0]', `rounds[${index}]`))
    }
  })

  test('a promise is named as such', () => {
    const model = scriptedModel((async () => 'late') as never)
    expect(() => model.stream({} as never, { signal: new AbortController().signal })).toThrow('not a promise')
  })

  test('a hole in the list is not a round', async () => {
    expect(await errorFrom(() => scriptedModel(new Array(1)))).toContain('rounds[0] must be text')
  })
})

test('an error thrown by a script function becomes a 500, in the format of each provider', async () => {
  await using sim = await providerSimulator(() => {
    throw new Error('no such page')
  })
  const bodies = []
  for (const wire of wires) {
    const response = await ask(sim, wire)
    expect(response.status).toBe(500)
    bodies.push(await response.json())
  }
  expect(bodies).toMatchObject([
    { error: { type: 'server_error', message: 'the script threw in round 1: no such page' } },
    { error: { type: 'server_error', message: 'the script threw in round 2: no such page' } },
    { type: 'error', error: { type: 'api_error', message: 'the script threw in round 3: no such page' } },
  ])
  expect(sim.requests.map(({ status }) => status)).toEqual([500, 500, 500])
})
