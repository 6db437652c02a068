import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sized } from '../../../../../test/size.ts'
import { agent } from '../../agent/index.ts'
import type { Entry, ThreadEvent } from '../../protocol/index.ts'
import { noUsage } from '../../protocol/index.ts'
import { script, scriptedModel, testScript } from '../../testing/index.ts'
import { tool } from '../../tools/index.ts'
import { readRuns } from './log.ts'
import type { Action } from './test-script.test-kit.ts'
import { conversations, converse, play, tester } from './test-script.test-kit.ts'

const hello: Action = { send: 'Hello', mode: 'queue' }
const rest: Action = { rest: true }

/** The source for a conversation, after it has been run. */
async function sourceFor(subject: ReturnType<typeof tester>, actions: readonly Action[]): Promise<string> {
  const source = testScript(await converse(subject, actions))
  await play(source)
  return source
}

describe('a conversation as a test', () => {
  test('has no tool variable that shadows an import', async () => {
    const recorded = tool({ name: 'recorded', description: 'x', input: z.object({}), run: () => 'done' })
    const model = scriptedModel([[{ call: 'recorded', input: {} }], 'Yes.'])
    await sourceFor(agent({ name: 'tester', model, tools: [recorded] }), [hello, rest])
  })

  test('reads like a test written by hand', async () => {
    const source = await sourceFor(
      tester([
        [
          { reasoning: 'I should ask.' },
          { text: 'Let me see. ' },
          { call: 'asks', input: { order: 'ORD-42' } },
          { call: 'plain', input: {} },
          { usage: { inputTokens: 20, outputTokens: 9 } },
        ],
        'It is done.',
        'You are welcome.',
      ]),
      [{ send: "Where's my money?", mode: 'queue' }, rest, { decide: true }, rest, hello, rest],
    )
    expect(source).toBe(`import { agent } from 'millrace'
import { recordedTool, scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'

test("Where's my money?", async () => {
  const asksTool = recordedTool('asks', [{ input: { order: 'ORD-42' }, asks: 'Really?', output: 'done' }])
  const plainTool = recordedTool('plain', [{ input: {}, output: { turn: 1 } }])
  const model = scriptedModel([
    [
      { reasoning: 'I should ask.' },
      { text: 'Let me see. ' },
      { call: 'asks', id: 'call_1', input: { order: 'ORD-42' } },
      { call: 'plain', id: 'call_2', input: {} },
      { usage: { inputTokens: 20, outputTokens: 9 } },
    ],
    'It is done.',
    'You are welcome.',
  ])
  const assistant = agent({ name: 'tester', model, tools: [asksTool, plainTool] })

  let run = assistant.stream("Where's my money?")
  let result = await run.result
  expect(result.outcome).toBe('suspended')

  run = run.resume({ callId: 'call_1', approved: true })
  result = await run.result
  expect(result.outcome).toBe('completed')
  expect(result.text).toBe('It is done.')

  run = assistant.stream([...result.messages, { role: 'user', content: 'Hello' }])
  result = await run.result
  expect(result.outcome).toBe('completed')
  expect(result.text).toBe('You are welcome.')

  expect(model.requests).toHaveLength(3)
  expect(asksTool.calls).toEqual([{ order: 'ORD-42' }])
  expect(plainTool.calls).toEqual([{}])
})
`)
  })

  test('has the current conversation only, after it was rewound', async () => {
    const source = await sourceFor(tester(['One.', 'Two.', 'Another two.', 'Another one.']), [
      hello,
      rest,
      { send: 'And?', mode: 'queue' },
      rest,
      { rewind: 'run-start' },
      rest,
    ])
    expect(source).toMatch(/scriptedModel\(\['One\.', 'Another two\.'\]\)/)
    expect(source).toContain("[...result.messages, { role: 'user', content: 'And?' }]")
  })

  test('has the results of calls that a client ran', async () => {
    const input = { color: 'red' }
    const actions: Action[] = [hello, rest, { decide: true, input }, rest]
    const source = await sourceFor(tester([[{ call: 'remote', input: {} }], 'Yes.']), actions)
    expect(source).toMatch(/const remoteTool = tool\(\{\n? +name: 'remote'/)
    expect(source).toContain("run.resume({ callId: 'call_1', approved: true, output: { color: 'red' } })")
  })

  test('passes, whatever happened in it', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, async ({ rounds, actions, maxRounds, onToolError }) => {
        const log = await converse(tester(rounds, { maxRounds, onToolError }), actions)
        if (readRuns(log).runs.length > 0) await play(testScript(log))
      }),
      { numRuns: sized(150) },
    )
  })

  const error = { op: 'model.stream', code: 'stream_error', message: 'broken', retryable: true } as const
  const asked: readonly ThreadEvent[] = [
    { type: 'input', mode: 'queue', message: { role: 'user', content: 'Good day.' } },
    { type: 'run-start', version: 2, runId: 'r1', agent: 'tester', input: [], inputs: [1] },
    { type: 'round-start', round: 1, model: 'scripted' },
  ]
  const retried: ThreadEvent = { type: 'round-retry', round: 1, attempt: 2, model: 'm', delayMs: 0, error }
  const completed: readonly ThreadEvent[] = [
    { type: 'text', text: 'That is all.' },
    { type: 'round-end', round: 1, model: 'scripted', finish: 'stop' },
    { type: 'run-end', outcome: 'completed', finish: 'stop', usage: noUsage },
  ]
  const entriesOf = (events: readonly ThreadEvent[]) =>
    events.map((event, at) => ({ seq: at + 1, at: 0, event }))

  test('leaves out attempts of a lost process', async () => {
    const lost: readonly ThreadEvent[] = [
      ...asked,
      retried,
      { type: 'input', mode: 'steer', message: { role: 'user', content: 'And this.' } },
      { type: 'run-start', version: 2, runId: 'r2', agent: 'tester', input: [], resumes: 'r1' },
      { type: 'round-retract', round: 1, reason: 'lost' },
      { type: 'round-start', round: 1, model: 'scripted', inputs: [5] },
      ...completed,
    ]
    const source = testScript(entriesOf(lost))
    expect(source).not.toContain('broken')
    await play(source)
  })

  test('has a generation that continued over another connection as one round', async () => {
    const source = testScript(entriesOf([...asked, { type: 'text', text: 'I say: ' }, retried, ...completed]))
    expect(source).toContain('I say: That is all.')
    expect(source).not.toContain('broken')
    await play(source)
  })

  test('fails when an answer, a call or an outcome differs', async () => {
    const source = await sourceFor(tester(script.tool('plain', { a: 1 }, 'Good.')), [hello, rest])
    const changes: [string, string][] = [
      ["'Good.']", "'Bad.']"],
      ["id: 'call_1', input: { a: 1 }", "id: 'call_1', input: { a: 2 }"],
      ["'Good.']", "[{ error: 'no' }]]"],
      ["'Good.']", "[{ text: 'Good.' }, { finish: 'length' }]]"],
      ["'Good.']", "[{ call: 'plain', input: { a: 1 } }], 'Good.']"],
    ]
    for (const [from, to] of changes) {
      expect(source).toContain(from)
      await expect(play(source.replace(from, to))).rejects.toThrow()
    }
  })

  test('has the given name', async () => {
    const log = await converse(tester(['Hi.']), [hello, rest])
    expect(await play(testScript(log, { name: "it's `me`" }))).toBe("it's `me`")
  })

  test('cannot be created without runs', () => {
    expect(() => testScript([])).toThrow('this thread has no runs yet')
  })
})

describe('what users did is repeated:', () => {
  test('a steering message reaches the same round', async () => {
    const gate = Promise.withResolvers<string>()
    const wait = tool({ name: 'wait', description: 'w', input: z.object({}), run: () => gate.promise })
    const source = await sourceFor(tester([[{ call: 'wait' }], 'Blue, then.'], { tools: [wait] }), [
      hello,
      { seen: 'tool-start' },
      { send: 'Rather blue', mode: 'steer' },
      { do: () => gate.resolve('waited') },
      rest,
    ])
    expect(source).toContain(`  const duringRound: Record<number, () => void> = {
    0: () => {
      run.steer('Rather blue')
    },
  }`)
  })

  test('an interrupted run is canceled at the same point', async () => {
    const source = await sourceFor(tester([[{ text: 'Working' }, { hang: true }], 'Better.']), [
      hello,
      { seen: 'text' },
      { send: 'Stop that', mode: 'interrupt' },
      rest,
    ])
    expect(source).toContain("[{ text: 'Working' }, { hang: true }],")
    expect(source).toContain("  await untilEmitted(run, 7)\n  run.cancel('interrupted by a new message')\n")
    expect(source).toContain("expect(result.outcome).toBe('canceled')\n  expect(result.text).toBe('Working')")
  })

  test('a tool that was running when the run was stopped hangs until then', async () => {
    const never = () => new Promise(() => {})
    const wait = tool({ name: 'wait', description: 'w', input: z.object({}), run: never })
    const source = await sourceFor(tester([[{ call: 'wait' }]], { tools: [wait] }), [
      hello,
      { seen: 'tool-start' },
      { stop: 'enough' },
      rest,
    ])
    expect(source).toContain("recordedTool('wait', [{ input: {}, hangs: true }])")
    expect(source).toContain("run.cancel('enough')")
  })

  test('a run that was stopped while it waited for approval is not decided', async () => {
    const source = await sourceFor(tester([[{ call: 'asks' }]]), [hello, rest, { stop: 'enough' }, rest])
    expect(source).toContain("run.resume({ callId: 'call_1', approved: false, reason: 'enough' })")
    expect(source).toContain("  // The run was ended before it did anything.\n  run.cancel('enough')\n")
  })

  test('a call is denied, or runs with the edited input', async () => {
    const rounds = [
      [
        { call: 'asks', input: { a: 1 } },
        { call: 'asks', input: { a: 2 } },
      ],
      'Done.',
    ]
    const changed: Action = { decide: true, input: { a: 3 } }
    const source = await sourceFor(tester(rounds), [hello, rest, changed, { decide: false }, rest])
    expect(source).toContain(`  run = run.resume([
    { callId: 'call_1', approved: true, input: { a: 3 } },
    { callId: 'call_2', approved: false },
  ])`)
    expect(source).toContain('expect(asksTool.calls).toEqual([{ a: 3 }])')
  })
})

describe('failures are repeated:', () => {
  test('a failed request is retried, without the delay', async () => {
    const error = { code: 'overloaded', message: 'busy', status: 529, retryAfterMs: 1 } as const
    const source = await sourceFor(tester([[{ text: 'Half' }, { error }], 'Whole.']), [hello, rest])
    expect(source).toContain(
      "[{ text: 'Half' }, { error: { code: 'overloaded', message: 'busy', status: 529, retryable: true } }],",
    )
    expect(source).toContain('retry: { attempts: 2, baseMs: 0 }')
  })

  test('a run fails for the same reason', async () => {
    const rounds = [[{ call: 'bad' }], 'Never said.']
    const source = await sourceFor(tester(rounds, { onToolError: 'fail' }), [hello, rest])
    expect(source).toContain("expect(result.error?.code).toBe('tool_failed')")
  })

  test('too many rounds end the run again', async () => {
    const rounds = Array.from({ length: 4 }, () => [{ call: 'plain' }])
    const source = await sourceFor(tester(rounds, { maxRounds: 3 }), [hello, rest])
    expect(source).toContain("assistant.stream('Hello', { maxRounds: 3 })")
    expect(source).toContain("toBe('max-rounds')")
  })

  test('more calls than the default limit are allowed', async () => {
    const calls = Array.from({ length: 40 }, (_, a) => ({ call: 'plain', input: { a } }))
    const source = await sourceFor(tester([calls, 'Done.'], { maxCallsPerRound: 50 }), [hello, rest])
    expect(source).toContain('toolConcurrency: 40,\n    maxCallsPerRound: 40,')
  })

  test('calls that a hook blocked or changed are blocked or changed again', async () => {
    const calls = [
      { call: 'plain', input: { 'b-c': 1 } },
      { call: 'plain', input: { n: 1 } },
    ]
    const source = await sourceFor(tester([calls, 'Done.']), [hello, rest])
    expect(source).toContain("call_1: { block: 'not that' },\n    call_2: { input: { n: 'changed' } },")
    expect(source).toContain("expect(plainTool.calls).toEqual([{ n: 'changed' }])")
  })

  test('malformed calls are malformed again', async () => {
    const calls = [
      { call: 'plain', raw: '{"a":' },
      { call: 'missing', input: {} },
      { call: 'plain', raw: '{"b":1', cut: true },
    ]
    const source = await sourceFor(tester([calls, 'Sorry.']), [hello, rest])
    expect(source).toContain(`{ call: 'plain', id: 'call_1', raw: '{"a":' },`)
    expect(source).toContain(`{ call: 'plain', id: 'call_3', raw: '{"b":1', cut: true },`)
    expect(source).not.toContain('recordedTool')
  })

  test('a conversation that was too long needs no summary', async () => {
    const error = { code: 'context_overflow', message: 'too long' } as const
    const subject = tester(['One.', [{ error }], 'Two.'], {
      compact: () => ({ keep: 1, summary: 'Greetings.' }),
    })
    const source = await sourceFor(subject, [hello, rest, { send: 'And?', mode: 'queue' }, rest])
    expect(source).toContain('    // The conversation was summarized here')
    expect(source).toContain('compact: false')
  })

  test('a corrected answer is corrected again', async () => {
    const model = scriptedModel(['{"n":"one"}', '{"n":1}'])
    const subject = agent({ name: 'counter', model, output: z.object({ n: z.number() }) })
    const source = await sourceFor(subject as never, [hello, rest])
    expect(source).toContain('Return the complete, corrected answer.')
    expect(source).toContain(`expect(result.text).toBe('{"n":1}')`)
  })

  test('the output of a lost process is left out', async () => {
    const rounds = [[{ text: 'Half' }, { hang: true as const }], 'Whole.']
    const source = await sourceFor(tester(rounds), [hello, { seen: 'text' }, { reopen: true }, rest])
    expect(source).toContain(
      "[\n    // A process was lost while it generated this, and another one generated it again.\n    'Whole.',\n  ]",
    )
  })

  test('a run in progress is canceled where it is', async () => {
    const source = await sourceFor(tester([[{ text: 'So far' }, { hang: true }]]), [hello, { seen: 'text' }])
    expect(source).toContain("run.cancel('the run had not ended when this was recorded')")
  })
})

describe('a sub-agent', () => {
  function boss() {
    const pay = tool({ name: 'pay', description: 'p', input: z.object({}), approve: true, run: () => 'paid' })
    const clerk = agent({
      name: 'clerk',
      model: scriptedModel(script.tool('pay', {}, 'I have paid.')),
      tools: [pay],
    })
    const model = scriptedModel(script.tool('clerk', { prompt: 'Pay.' }, 'It is paid.'))
    return agent({ name: 'boss', model, tools: [clerk.asTool({ description: 'c' })] })
  }

  test('is replaced by its answer', async () => {
    const source = await sourceFor(boss(), [hello, rest, { decide: true }, rest])
    expect(source).toContain("recordedTool('clerk', [{ input: { prompt: 'Pay.' }, output: 'I have paid.' }])")
    expect(source).not.toContain('resume')
  })

  test('that still waits for approval makes the run wait', async () => {
    const source = await sourceFor(boss(), [hello, rest])
    expect(source).toContain("recordedTool('clerk', [{ input: { prompt: 'Pay.' }, asks: true }])")
    expect(source).toContain("expect(result.outcome).toBe('suspended')")
  })
})

describe('the content', () => {
  function completed(...events: Entry['event'][]): Entry[] {
    const input = { type: 'input', message: { role: 'user', content: 'Hello' }, mode: 'queue' } as const
    const start = { type: 'run-start', version: 2, runId: 'r', agent: 'a', input: [], inputs: [1] } as const
    return [input, start, ...events].map((event, index) => ({ seq: index + 1, at: 0, event }))
  }
  const usage = {
    inputTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  }

  test('data that only the provider can read is left out', async () => {
    const opaque = { provider: 'p', data: 'c2VjcmV0' }
    const source = testScript(
      completed(
        { type: 'round-start', round: 1, model: 'm' },
        { type: 'reasoning', text: 'Hm.' },
        { type: 'part-end', part: 'reasoning', opaque },
        { type: 'provider-tool', callId: 'p1', name: 'search', input: { q: 'x' } },
        { type: 'provider-tool', callId: 'p1', name: 'search', output: [1], opaque },
        { type: 'text', text: 'Found.' },
        { type: 'part-end', part: 'text', opaque },
        { type: 'round-end', round: 1, model: 'm', finish: 'stop' },
        { type: 'run-end', outcome: 'completed', usage },
      ),
    )
    await play(source)
    expect(source).toContain("{ providerTool: 'search', input: { q: 'x' }, output: [1] },")
    expect(source).not.toContain('c2VjcmV0')
  })

  test('images and several parts are kept', async () => {
    const source = await sourceFor(tester([[{ call: 'picture' }], 'See.']), [hello, rest])
    expect(source).toContain("import { agent, toolContent } from 'millrace'")
    expect(source).toContain(`toolContent([
        { type: 'text', text: 'a picture' },
        { type: 'json', value: 'text' },
      ])`)
  })
})
