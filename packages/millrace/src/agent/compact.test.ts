import { describe, expect, test } from 'vitest'
import type { InputMessage, Message, RunEvent } from '../protocol/index.ts'
import { findUnpaired, foldLog, MillraceError, textOf, transcriptOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { collect, echo, gate, of, typesOf } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { Compact, Compaction, CompactionInput } from './compact.ts'
import type { Run } from './run.ts'

const tooLong: ScriptRound = [{ error: { code: 'context_overflow', message: 'prompt is too long' } }]
const label = '[Summary of the conversation so far, in place of its earlier messages]'
const requestLabel = "[The user's request, verbatim]"

const chat: readonly InputMessage[] = [
  { role: 'user', content: 'I am Ada.' },
  { role: 'assistant', content: 'Hello, Ada.' },
  { role: 'user', content: 'I like tea.' },
  { role: 'assistant', content: 'So do I.' },
  { role: 'user', content: 'Who am I?' },
]

/** Keeps `keep` messages, one entry per call if it is a list, and records its inputs. */
function keeping(keep: number | readonly number[], summary = 'Ada likes tea.') {
  const asked: CompactionInput[] = []
  const keeps = [keep].flat()
  const compact: Compact = (conversation) => {
    asked.push(conversation)
    return { keep: keeps[Math.min(asked.length, keeps.length) - 1] ?? 0, summary }
  }
  return { compact, asked }
}

function promptOf(model: { requests: readonly { messages: readonly Message[] }[] }, index: number): string[] {
  return (model.requests[index]?.messages ?? []).map((message) => `${message.role}: ${textOf(message)}`)
}

describe('a conversation that the provider rejects as too long', () => {
  test('is compacted, and the round is sent again', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const { compact, asked } = keeping(1)
    const run = agent({ model, system: 'Be brief.', compact }).stream(chat)
    const events = await collect(run)

    expect(typesOf(events)).toEqual([
      'run-start',
      'round-start',
      'summary',
      'round-retry',
      'text',
      'round-end',
      'run-end',
    ])
    expect(of(events, 'round-retry')).toMatchObject([
      { round: 1, attempt: 2, model: 'scripted', delayMs: 0, error: { code: 'context_overflow' } },
    ])
    expect(promptOf(model, 1)).toEqual([
      'system: Be brief.',
      `user: ${label}\n\nAda likes tea.`,
      'user: Who am I?',
    ])
    expect(asked).toMatchObject([{ reason: 'overflow', model: { id: 'scripted' } }])
    expect(asked[0]?.messages.map(textOf)).toEqual([
      'I am Ada.',
      'Hello, Ada.',
      'I like tea.',
      'So do I.',
      'Who am I?',
    ])
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'You are Ada.', rounds: 1 })
  })

  test('continues as the model reads it, and stays complete in the log', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const run = agent({ model, compact: keeping(1).compact }).stream(chat)
    const { messages } = await run.result
    expect(messages.map(textOf)).toEqual([`${label}\n\nAda likes tea.`, 'Who am I?', 'You are Ada.'])

    const state = foldLog(await collect(run))
    expect(transcriptOf(state).map(textOf)).toEqual([...chat.map(({ content }) => content), 'You are Ada.'])
  })

  test("is compacted at most twice for one round, then fails with the provider's error", async () => {
    const model = scriptedModel([tooLong, tooLong, tooLong])
    const { compact, asked } = keeping([4, 3, 2], 'Ada.')
    const { outcome, error } = await agent({ model, compact }).stream(chat).result
    expect(outcome).toBe('failed')
    expect(error).toMatchObject({ code: 'context_overflow', message: 'prompt is too long' })
    expect(model.requests).toHaveLength(3)
    expect(asked).toHaveLength(2)
    expect(asked[1]?.messages[0]).toEqual({ role: 'user', content: `${label}\n\nAda.` })
  })

  test('is compacted again in each round that needs it', async () => {
    const call = (value: string): ScriptRound => [{ call: 'echo', input: { value } }]
    const model = scriptedModel([call('a'), tooLong, call('b'), tooLong, call('c'), tooLong, 'Done.'])
    const { compact, asked } = keeping(2)
    const run = agent({ model, tools: [echo], compact }).stream(chat)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done.', rounds: 4 })
    expect(asked).toHaveLength(3)
    const whole = transcriptOf(foldLog(await collect(run)))
    expect(whole).toHaveLength(chat.length + 2 * 3 + 1)
    expect(findUnpaired(whole)).toBeUndefined()
  })

  test.each([
    ['one message', 'Who am I?'],
    ['unanswered messages', chat.filter(({ role }) => role === 'user')],
    ['a system message and one message', [{ role: 'system', content: 'Be kind.' }, ...chat.slice(-1)]],
  ] as const)('fails with the overflow if it is only %s, without calling compact()', async (_, input) => {
    const model = scriptedModel([tooLong])
    const { compact, asked } = keeping(0)
    const { error } = await agent({ model, compact }).stream(input as InputMessage[]).result
    expect(error).toMatchObject({ code: 'context_overflow', message: 'prompt is too long' })
    expect(asked).toEqual([])
  })

  const useless: [string, Compact][] = [
    ['returns nothing', () => undefined],
    ['keeps everything', () => ({ keep: 5, summary: 'Ada.' })],
    ['would keep more than there is', () => ({ keep: 50, summary: 'Ada.' })],
  ]
  test.each(useless)("fails with the provider's error if compact() %s", async (_, compact) => {
    const model = scriptedModel([tooLong])
    const run = agent({ model, compact }).stream(chat)
    expect((await run.result).error).toMatchObject({ message: 'prompt is too long' })
    expect(of(await collect(run), 'summary')).toEqual([])
  })

  test("fails with the provider's error with `compact: false`", async () => {
    const model = scriptedModel([tooLong])
    const { error } = await agent({ model, compact: false }).stream(chat).result
    expect(error).toMatchObject({ code: 'context_overflow', message: 'prompt is too long' })
    expect(model.requests).toHaveLength(1)
  })

  test('fails with both reasons if compaction fails', async () => {
    const model = scriptedModel([tooLong])
    const cause = new Error('out of ink')
    const compact = () => Promise.reject(cause)
    const { error, messages } = await agent({ model, compact }).stream(chat).result
    expect(error).toMatchObject({
      code: 'context_overflow',
      message: 'prompt is too long; compacting the conversation failed: out of ink',
      retryable: false,
      cause,
    })
    expect(messages).toHaveLength(chat.length)
  })

  test('goes to the next model unchanged if compaction fails', async () => {
    const small = scriptedModel([tooLong], { id: 'small' })
    const large = scriptedModel(['You are Ada.'], { id: 'large' })
    const run = agent({ model: [small, large], compact: () => undefined }).stream(chat)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'You are Ada.' })
    expect(promptOf(large, 0)).toHaveLength(chat.length)
  })

  test('is not compacted after text was shown', async () => {
    const model = scriptedModel(script.failing({ code: 'context_overflow', message: 'too long' }, 'You are'))
    const { compact, asked } = keeping(1)
    expect((await agent({ model, compact }).stream(chat).result).error).toMatchObject({ message: 'too long' })
    expect(asked).toEqual([])
  })

  test('is planned again after compaction', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const seen: number[] = []
    const run = agent({
      model,
      compact: keeping(1).compact,
      prepareRound: ({ messages, round }) => {
        seen.push(messages.length)
        return { system: `round ${round} of ${messages.length} messages` }
      },
    }).stream(chat)
    expect((await run.result).outcome).toBe('completed')
    expect(seen).toEqual([5, 2])
    expect(promptOf(model, 1)[0]).toBe('system: round 1 of 2 messages')
  })

  test('leaves messages that arrive during compaction to the next round', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.', 'Bye.'])
    const run: Run = agent({
      model,
      compact: async (): Promise<Compaction> => {
        run.steer('And goodbye.')
        return { keep: 1, summary: 'Ada.' }
      },
    }).stream(chat)
    expect((await run.result).text).toBe('Bye.')
    expect(promptOf(model, 1)).toEqual([`user: ${label}\n\nAda.`, 'user: Who am I?'])
    expect(promptOf(model, 2).at(-1)).toBe('user: And goodbye.')
  })
})

describe('a conversation close to `maxContextTokens`', () => {
  const used = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } })
  const calling = (value: string, inputTokens: number, outputTokens = 0): ScriptRound => [
    { call: 'echo', input: { value } },
    used(inputTokens, outputTokens),
  ]

  test('is compacted before the next round', async () => {
    const model = scriptedModel([calling('a', 700), calling('b', 790, 11), 'Done.'])
    const { compact, asked } = keeping(0, 'Echoed a.')
    const run = agent({ model, tools: [echo], maxContextTokens: 1000, compact }).stream('Echo a and b.')
    const events = await collect(run)
    expect(asked).toMatchObject([{ reason: 'limit', tokens: 801, limit: 1000 }])
    const [at] = [events.findIndex(({ type }) => type === 'summary')]
    expect(events[at + 1]).toMatchObject({ type: 'round-start', round: 3 })
    // The latest round is kept, whatever compact() returns.
    expect(promptOf(model, 2)).toEqual([
      `user: ${label}\n\nEchoed a.\n\n${requestLabel}\n\nEcho a and b.`,
      'assistant: ',
      'tool: b',
    ])
    expect((await run.result).outcome).toBe('completed')
  })

  test('is left alone up to 80% of it, and without a limit', async () => {
    for (const [maxContextTokens, tokens] of [
      [1000, 800],
      [undefined, 5_000_000],
    ] as const) {
      const model = scriptedModel([calling('a', 1), calling('b', tokens), 'Done.'])
      const { compact, asked } = keeping(0)
      const { outcome } = await agent({ model, tools: [echo], maxContextTokens, compact }).run('Echo.')
      expect([outcome, asked]).toEqual(['completed', []])
    }
  })

  test('is not compacted again until it is long again', async () => {
    const unknown: ScriptRound = [{ call: 'echo', input: { value: 'c' } }]
    const model = scriptedModel([calling('a', 10), calling('b', 900), unknown, calling('d', 900), 'Done.'])
    const { compact, asked } = keeping(2)
    await agent({ model, tools: [echo], maxContextTokens: 1000, compact }).run(chat as InputMessage[])
    expect(asked).toHaveLength(2)
  })

  test('is sent unchanged if compaction fails: it still fits', async () => {
    const model = scriptedModel([calling('a', 10), calling('b', 900), 'Done.'])
    const compact = () => Promise.reject(new Error('out of ink'))
    const run = agent({ model, tools: [echo], maxContextTokens: 1000, compact }).stream('Echo.')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done.' })
    expect(promptOf(model, 2)).toHaveLength(5)
  })

  test('includes messages that arrive during compaction in this round', async () => {
    const model = scriptedModel([calling('a', 10), calling('b', 900), 'Done.'])
    const run: Run = agent({
      model,
      tools: [echo],
      maxContextTokens: 1000,
      compact: async (): Promise<Compaction> => {
        run.steer('Hurry.')
        return { keep: 0, summary: 'Echoed a.' }
      },
    }).stream('Echo.')
    expect((await run.result).outcome).toBe('completed')
    expect(promptOf(model, 2)).toEqual([
      `user: ${label}\n\nEchoed a.\n\n${requestLabel}\n\nEcho.`,
      'assistant: ',
      'tool: b',
      'user: Hurry.',
    ])
  })
})

describe('the cut', () => {
  const working: readonly InputMessage[] = [
    { role: 'user', content: 'Echo this.' },
    {
      role: 'assistant',
      content: ['a', 'b', 'c'].map(
        (callId) => ({ type: 'tool-call', callId, name: 'echo', input: {} }) as const,
      ),
    },
    ...['a', 'b', 'c'].map((callId) => ({ role: 'tool', callId, name: 'echo', content: callId }) as const),
    { role: 'assistant', content: 'Echoed.' },
    { role: 'user', content: 'Again.' },
  ]

  test.each([
    [1, ['Again.']],
    [2, ['Echoed.', 'Again.']],
    // A cut that would separate a call from its results is moved before the call.
    [3, ['', 'a', 'b', 'c', 'Echoed.', 'Again.']],
    [4, ['', 'a', 'b', 'c', 'Echoed.', 'Again.']],
    [5, ['', 'a', 'b', 'c', 'Echoed.', 'Again.']],
    [0, ['Again.']],
  ])('keeps calls with their results, and the last message: %i to keep', async (keep, kept) => {
    // The first request is unanswered, so that there is something before the call to replace.
    const input: InputMessage[] = [
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'Hello.' },
      ...working,
    ]
    const model = scriptedModel([tooLong, 'Done.'])
    expect(
      (await agent({ model, tools: [echo], compact: keeping(keep).compact }).stream(input).result).error,
    ).toBe(undefined)
    expect(model.requests[1]?.messages.slice(1).map(textOf)).toEqual(kept)
  })

  test('never removes the last request, however much was done for it since', async () => {
    const call = (value: string): ScriptRound => [{ call: 'echo', input: { value } }]
    const model = scriptedModel([call('a'), call('b'), tooLong, call('c'), tooLong, 'Done.'])
    const input = { role: 'user', content: 'Echo a, b and c.' } as const
    const run = agent({ model, tools: [echo], compact: keeping(0, 'Some are echoed.').compact }).stream(input)
    expect((await run.result).outcome).toBe('completed')
    const request = `user: ${label}\n\nSome are echoed.\n\n${requestLabel}\n\nEcho a, b and c.`
    expect(promptOf(model, 3)).toEqual([request])
    expect(promptOf(model, 5)).toEqual([request])
    expect(transcriptOf(foldLog(await collect(run)))).toHaveLength(1 + 2 * 3 + 1)
  })

  test('keeps messages of the current request, not of finished ones', async () => {
    const input: InputMessage[] = [
      ...chat.slice(0, 4),
      ...working.slice(0, 5),
      { role: 'user', content: 'Louder.' },
      { role: 'user', content: 'And faster.' },
    ]
    const more: ScriptRound = [{ call: 'echo', input: { value: 'louder' } }]
    const model = scriptedModel([more, tooLong, 'Done.'])
    await agent({ model, tools: [echo], compact: keeping(2, 'Echoed.').compact }).run(input)
    expect(promptOf(model, 2)).toEqual([
      `user: ${[label, 'Echoed.', requestLabel, 'Echo this.', 'Louder.', 'And faster.'].join('\n\n')}`,
      'assistant: ',
      'tool: louder',
    ])
  })

  test('keeps the images of the last request', async () => {
    const model = scriptedModel([[{ call: 'echo', input: { value: 'a' } }], tooLong, 'A cat.'])
    const image = { type: 'image', data: 'aGk=', mediaType: 'image/png' } as const
    const content = [{ type: 'text', text: 'What is this?' } as const, image]
    await agent({ model, tools: [echo], compact: keeping(0, 'Echoed.').compact }).run({
      role: 'user',
      content,
    })
    expect(model.requests[2]?.messages).toEqual([
      {
        role: 'user',
        content: [{ type: 'text', text: `${label}\n\nEchoed.\n\n${requestLabel}` }, ...content],
      },
    ])
  })

  test('never removes system messages', async () => {
    const input: InputMessage[] = [
      { role: 'system', content: 'Be kind.' },
      ...chat.slice(0, 2),
      { role: 'system', content: 'Be quick.' },
      ...chat.slice(2),
    ]
    const model = scriptedModel([tooLong, tooLong, 'You are Ada.'])
    const run = agent({ model, compact: keeping([3, 2], 'Ada.').compact }).stream(input)
    expect((await run.result).outcome).toBe('completed')
    const front = ['system: Be kind.', 'system: Be quick.', `user: ${label}\n\nAda.`]
    expect(promptOf(model, 1)).toEqual([
      ...front,
      'user: I like tea.',
      'assistant: So do I.',
      'user: Who am I?',
    ])
    expect(promptOf(model, 2)).toEqual([...front, 'assistant: So do I.', 'user: Who am I?'])
    const whole = transcriptOf(foldLog(await collect(run)))
    expect(whole.map(textOf)).toEqual([...input.map(({ content }) => content), 'You are Ada.'])
  })
})

describe('compact()', () => {
  test.each([
    ['a word', 'short', 'the result must be an object, not a string'],
    [
      'nothing to keep',
      { summary: 'Ada.' },
      "the field 'keep' must be a whole number of at least 0, not null",
    ],
    ['a negative number to keep', { keep: -1, summary: 'Ada.' }, "the field 'keep' must be a whole number"],
    ['half a message to keep', { keep: 0.5, summary: 'Ada.' }, "the field 'keep' must be a whole number"],
    ['no summary', { keep: 1 }, "the field 'summary' must be text"],
    ['an empty summary', { keep: 1, summary: ' ' }, "the field 'summary' must be text"],
    ['a misspelled field', { keeps: 1, summary: 'Ada.' }, "'keeps' does not exist: did you mean 'keep'?"],
  ])('that returns %s fails the run with `hook_failed`', async (_, given, problem) => {
    const model = scriptedModel([tooLong])
    const { outcome, error } = await agent({ model, compact: () => given as never }).stream(chat).result
    expect(outcome).toBe('failed')
    expect(error).toMatchObject({ code: 'hook_failed', op: 'compact' })
    expect(error?.message).toContain('compact returned an invalid value: ')
    expect(error?.message).toContain(problem)
  })

  test('and maxContextTokens are checked by agent()', () => {
    const model = scriptedModel([])
    expect(() => agent({ model, compact: true as never }).stream('Hi')).toThrow(
      "the agent option 'compact' must be false or a function, such as summarize() returns, not a boolean",
    )
    expect(() => agent({ model, maxContextTokens: 0 }).stream('Hi')).toThrow(
      "'maxContextTokens' must be a whole number",
    )
  })

  test('gets an aborted signal when the run ends, which does not wait for it', async () => {
    const model = scriptedModel([tooLong])
    const started = Promise.withResolvers<AbortSignal>()
    const run = agent({
      model,
      compact: ({ signal }) => {
        started.resolve(signal)
        return new Promise(() => {})
      },
    }).stream(chat)
    const signal = await started.promise
    expect(signal.aborted).toBe(false)
    run.cancel('enough')
    expect(signal.aborted).toBe(true)
    expect(await run.result).toMatchObject({ outcome: 'canceled', error: { message: 'enough' } })
    expect((await collect(run)).at(-1)).toMatchObject({ type: 'run-end', outcome: 'canceled' })
  })

  test('changes nothing if it returns after the end', async () => {
    const model = scriptedModel([tooLong])
    const back = Promise.withResolvers<{ keep: number; summary: string }>()
    const started = Promise.withResolvers<void>()
    const run = agent({
      model,
      compact: () => {
        started.resolve()
        return back.promise
      },
    }).stream(chat)
    await started.promise
    run.cancel()
    back.resolve({ keep: 1, summary: 'Ada.' })
    await run.result
    await new Promise(setImmediate)
    expect(typesOf(await collect(run))).toEqual(['run-start', 'round-start', 'round-end', 'run-end'])
    expect(model.requests).toHaveLength(1)
  })

  test('is limited by runMs', async () => {
    const clock = fakeClock()
    const model = scriptedModel([tooLong])
    const run = agent({ model, clock, runMs: 5000, compact: () => new Promise(() => {}) }).stream(chat)
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'failed', error: { code: 'timeout' } })
  })

  test('cannot change the conversation through its input', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const run = agent({
      model,
      compact: ({ messages }) => {
        ;(messages as Message[]).length = 1
        return { keep: 1, summary: 'Ada.' }
      },
    }).stream(chat)
    await run.result
    expect(promptOf(model, 1)).toEqual([`user: ${label}\n\nAda.`, 'user: Who am I?'])
  })

  test('works for a plan', async () => {
    const model = scriptedModel([tooLong, [{ call: 'echo', input: { value: 'Ada' } }]])
    const plan = agent({ model, tools: [echo], compact: keeping(1).compact }).plan(chat)
    expect((await plan.result).calls).toMatchObject([{ name: 'echo', input: { value: 'Ada' } }])
  })

  test('does not block calls that are ready to run', async () => {
    const { tool, open, started } = gate()
    const model = scriptedModel([[{ call: 'gate' }, { usage: { inputTokens: 900 } }], 'Done.'])
    const { compact, asked } = keeping(1)
    const run = agent({ model, tools: [tool], maxContextTokens: 1000, compact }).stream(chat)
    await started
    expect(asked).toEqual([])
    open('opened')
    expect((await run.result).text).toBe('Done.')
    expect(asked).toHaveLength(1)
  })
})

describe('ask()', () => {
  const asking =
    (question: Parameters<CompactionInput['ask']>[0]): Compact =>
    async ({ ask }) => ({ keep: 1, summary: await ask(question) })

  test('sends only the question, and counts its usage', async () => {
    const model = scriptedModel([
      tooLong,
      [{ reasoning: 'Let me see.' }, { text: ' Ada. ' }, { usage: { inputTokens: 30, outputTokens: 4 } }],
      [{ text: 'You are Ada.' }, { usage: { inputTokens: 10, outputTokens: 3 } }],
    ])
    const run = agent({
      model,
      tools: [echo],
      settings: { temperature: 1, maxOutputTokens: 5, headers: { 'x-team': 'desk' } },
      compact: asking({ prompt: 'Who is it?', system: 'Read closely.' }),
    }).stream(chat)
    const { usage } = await run.result
    expect(model.requests[1]).toEqual({
      messages: [
        { role: 'system', content: 'Read closely.' },
        { role: 'user', content: 'Who is it?' },
      ],
      tools: [],
      settings: { headers: { 'x-team': 'desk' } },
    })
    expect(usage).toMatchObject({ inputTokens: 40, outputTokens: 7 })
    const [summary] = of(await collect(run), 'summary')
    expect(summary).toMatchObject({
      message: { content: `${label}\n\nAda.` },
      usage: { inputTokens: 30, outputTokens: 4 },
    })
  })

  test('asks another model if one is passed', async () => {
    const other = scriptedModel(['Ada.'], { id: 'other' })
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const run = agent({ model, compact: asking({ prompt: 'Who is it?', model: other }) }).stream(chat)
    expect((await run.result).outcome).toBe('completed')
    expect(other.requests).toHaveLength(1)
  })

  test('retries like the agent', async () => {
    const clock = fakeClock()
    const busy: ScriptRound = [{ text: 'A' }, { error: { code: 'overloaded', message: 'busy' } }]
    const model = scriptedModel([tooLong, busy, busy, 'Ada.', 'You are Ada.'], { clock })
    const run = agent({ model, clock, compact: asking({ prompt: 'Who is it?' }) }).stream(chat)
    expect((await clock.until(run.result)).outcome).toBe('completed')
    expect(of(await collect(run), 'summary')).toMatchObject([{ message: { content: `${label}\n\nAda.` } }])
  })

  const failures: [string, ScriptRound, string][] = [
    ['fails', [{ error: { code: 'auth', message: 'bad key' } }], 'bad key'],
    [
      'is refused',
      [{ text: 'No.' }, { finish: 'refusal' }],
      "the model 'scripted' returned no answer (refusal)",
    ],
    ['has no text', [{ reasoning: 'Hm.' }], "the model 'scripted' returned no answer (stop)"],
    ['never comes', [{ hang: true }], "the model 'scripted' sent no first event for 1000 ms"],
  ]
  test.each(failures)('rejects if the answer %s', async (_, answer, reason) => {
    const clock = fakeClock()
    const model = scriptedModel([tooLong, answer], { clock })
    const options = { model, clock, firstEventMs: 1000, retry: { attempts: 1 } }
    const run = agent({ ...options, compact: asking({ prompt: 'Who is it?' }) }).stream(chat)
    const { error } = await clock.until(run.result)
    expect(error).toBeInstanceOf(MillraceError)
    expect(error?.message).toBe(`prompt is too long; compacting the conversation failed: ${reason}`)
  })

  test('rejects an invalid question', async () => {
    const model = scriptedModel([tooLong])
    const run = agent({ model, compact: asking({ promt: 'Who?' } as never) }).stream(chat)
    expect((await run.result).error?.message).toContain(
      "ask: the field 'promt' does not exist: did you mean 'prompt'?",
    )
    const silent = scriptedModel([tooLong])
    const without = agent({ model: silent, compact: asking({} as never) }).stream(chat)
    expect((await without.result).error?.message).toContain("ask: the field 'prompt' must be text")
    expect(silent.requests).toHaveLength(1)
  })

  test('ends with the run, including its request', async () => {
    let aborted = false
    const hanging = scriptedModel([[{ hang: true }]])
    const other = {
      ...hanging,
      stream: (...[request, options]: Parameters<typeof hanging.stream>) => {
        options.signal.addEventListener('abort', () => {
          aborted = true
        })
        return hanging.stream(request, options)
      },
    }
    const model = scriptedModel([tooLong])
    const events: RunEvent[] = []
    const run = agent({ model, compact: asking({ prompt: 'Who is it?', model: other }) }).stream(chat)
    await expect.poll(() => hanging.requests.length).toBe(1)
    run.cancel('enough')
    expect(aborted).toBe(true)
    for await (const event of run) events.push(event)
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'canceled' })
  })
})
