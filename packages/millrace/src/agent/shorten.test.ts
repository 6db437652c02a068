import { describe, expect, test } from 'vitest'
import type { InputMessage, Message, RunEvent } from '../protocol/index.ts'
import { findUnpaired, foldLog, MillraceError, textOf, transcriptOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { collect, echo, gate, of, typesOf } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { Run } from './run.ts'
import type { LongConversation, Shorten, Shortened } from './shorten.ts'

const tooLong: ScriptRound = [{ error: { code: 'context_overflow', message: 'prompt is too long' } }]
const label = '[Summary of the conversation so far, in place of its earlier messages]'
const requestLabel = '[What the user asks for, word for word]'

const chat: readonly InputMessage[] = [
  { role: 'user', content: 'I am Ada.' },
  { role: 'assistant', content: 'Hello, Ada.' },
  { role: 'user', content: 'I like tea.' },
  { role: 'assistant', content: 'So do I.' },
  { role: 'user', content: 'Who am I?' },
]

/** Keeps so many messages, by turns if it is a list, and remembers what it was asked. */
function keeping(keep: number | readonly number[], summary = 'Ada likes tea.') {
  const asked: LongConversation[] = []
  const keeps = [keep].flat()
  const shorten: Shorten = (conversation) => {
    asked.push(conversation)
    return { keep: keeps[Math.min(asked.length, keeps.length) - 1] ?? 0, summary }
  }
  return { shorten, asked }
}

function saidTo(model: { requests: readonly { messages: readonly Message[] }[] }, index: number): string[] {
  return (model.requests[index]?.messages ?? []).map((message) => `${message.role}: ${textOf(message)}`)
}

describe('a conversation that the provider refuses as too long', () => {
  test('is shortened, and the round told again', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const { shorten, asked } = keeping(1)
    const run = agent({ model, system: 'Be brief.', shorten }).stream(chat)
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
    expect(saidTo(model, 1)).toEqual([
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

  test('is gone on with as the model reads it, and kept whole in the log', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const run = agent({ model, shorten: keeping(1).shorten }).stream(chat)
    const { messages } = await run.result
    expect(messages.map(textOf)).toEqual([`${label}\n\nAda likes tea.`, 'Who am I?', 'You are Ada.'])

    const state = foldLog(await collect(run))
    expect(transcriptOf(state).map(textOf)).toEqual([...chat.map(({ content }) => content), 'You are Ada.'])
  })

  test('is shortened at most twice for one round, and then fails with what the provider said', async () => {
    const model = scriptedModel([tooLong, tooLong, tooLong])
    const { shorten, asked } = keeping([4, 3, 2], 'Ada.')
    const { outcome, error } = await agent({ model, shorten }).stream(chat).result
    expect(outcome).toBe('failed')
    expect(error).toMatchObject({ code: 'context_overflow', message: 'prompt is too long' })
    expect(model.requests).toHaveLength(3)
    expect(asked).toHaveLength(2)
    expect(asked[1]?.messages[0]).toEqual({ role: 'user', content: `${label}\n\nAda.` })
  })

  test('is shortened anew in each round that needs it', async () => {
    const call = (value: string): ScriptRound => [{ call: 'echo', input: { value } }]
    const model = scriptedModel([call('a'), tooLong, call('b'), tooLong, call('c'), tooLong, 'Done.'])
    const { shorten, asked } = keeping(2)
    const run = agent({ model, tools: [echo], shorten }).stream(chat)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done.', rounds: 4 })
    expect(asked).toHaveLength(3)
    const whole = transcriptOf(foldLog(await collect(run)))
    expect(whole).toHaveLength(chat.length + 2 * 3 + 1)
    expect(findUnpaired(whole)).toBeUndefined()
  })

  test.each([
    ['one message', 'Who am I?'],
    ['words that were not answered yet', chat.filter(({ role }) => role === 'user')],
    [
      'nothing but what the system says before it',
      [{ role: 'system', content: 'Be kind.' }, ...chat.slice(-1)],
    ],
  ] as const)('fails as it is if it is only %s, and nobody is asked', async (_, input) => {
    const model = scriptedModel([tooLong])
    const { shorten, asked } = keeping(0)
    const { error } = await agent({ model, shorten }).stream(input as InputMessage[]).result
    expect(error).toMatchObject({ code: 'context_overflow', message: 'prompt is too long' })
    expect(asked).toEqual([])
  })

  const useless: [string, Shorten][] = [
    ['gives nothing', () => undefined],
    ['keeps everything', () => ({ keep: 5, summary: 'Ada.' })],
    ['would keep more than there is', () => ({ keep: 50, summary: 'Ada.' })],
  ]
  test.each(useless)('fails as it is if the strategy %s', async (_, shorten) => {
    const model = scriptedModel([tooLong])
    const run = agent({ model, shorten }).stream(chat)
    expect((await run.result).error).toMatchObject({ message: 'prompt is too long' })
    expect(of(await collect(run), 'summary')).toEqual([])
  })

  test('fails as it is with `shorten: false`', async () => {
    const model = scriptedModel([tooLong])
    const { error } = await agent({ model, shorten: false }).stream(chat).result
    expect(error).toMatchObject({ code: 'context_overflow', message: 'prompt is too long' })
    expect(model.requests).toHaveLength(1)
  })

  test('is told with both reasons if it cannot be shortened', async () => {
    const model = scriptedModel([tooLong])
    const cause = new Error('out of ink')
    const shorten = () => Promise.reject(cause)
    const { error, messages } = await agent({ model, shorten }).stream(chat).result
    expect(error).toMatchObject({
      code: 'context_overflow',
      message: 'prompt is too long; and the conversation could not be shortened: out of ink',
      retryable: false,
      cause,
    })
    expect(messages).toHaveLength(chat.length)
  })

  test('goes to the next model as it is if it cannot be shortened', async () => {
    const small = scriptedModel([tooLong], { id: 'small' })
    const large = scriptedModel(['You are Ada.'], { id: 'large' })
    const run = agent({ model: [small, large], shorten: () => undefined }).stream(chat)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'You are Ada.' })
    expect(saidTo(large, 0)).toHaveLength(chat.length)
  })

  test('is not shortened once something was shown', async () => {
    const model = scriptedModel(script.failing({ code: 'context_overflow', message: 'too long' }, 'You are'))
    const { shorten, asked } = keeping(1)
    expect((await agent({ model, shorten }).stream(chat).result).error).toMatchObject({ message: 'too long' })
    expect(asked).toEqual([])
  })

  test('is planned again once it is shorter', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const seen: number[] = []
    const run = agent({
      model,
      shorten: keeping(1).shorten,
      prepareRound: ({ messages, round }) => {
        seen.push(messages.length)
        return { system: `round ${round} of ${messages.length} messages` }
      },
    }).stream(chat)
    expect((await run.result).outcome).toBe('completed')
    expect(seen).toEqual([5, 2])
    expect(saidTo(model, 1)[0]).toBe('system: round 1 of 2 messages')
  })

  test('leaves what is said meanwhile to the next round', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.', 'Bye.'])
    const run: Run = agent({
      model,
      shorten: async (): Promise<Shortened> => {
        run.steer('And goodbye.')
        return { keep: 1, summary: 'Ada.' }
      },
    }).stream(chat)
    expect((await run.result).text).toBe('Bye.')
    expect(saidTo(model, 1)).toEqual([`user: ${label}\n\nAda.`, 'user: Who am I?'])
    expect(saidTo(model, 2).at(-1)).toBe('user: And goodbye.')
  })
})

describe('a conversation that comes near `contextTokens`', () => {
  const used = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } })
  const calling = (value: string, inputTokens: number, outputTokens = 0): ScriptRound => [
    { call: 'echo', input: { value } },
    used(inputTokens, outputTokens),
  ]

  test('is shortened before the next round', async () => {
    const model = scriptedModel([calling('a', 700), calling('b', 790, 11), 'Done.'])
    const { shorten, asked } = keeping(0, 'Echoed a.')
    const run = agent({ model, tools: [echo], contextTokens: 1000, shorten }).stream('Echo a and b.')
    const events = await collect(run)
    expect(asked).toMatchObject([{ reason: 'limit', tokens: 801, limit: 1000 }])
    const [at] = [events.findIndex(({ type }) => type === 'summary')]
    expect(events[at + 1]).toMatchObject({ type: 'round-start', round: 3 })
    // The round that the model has just told stays, whatever the strategy says.
    expect(saidTo(model, 2)).toEqual([
      `user: ${label}\n\nEchoed a.\n\n${requestLabel}\n\nEcho a and b.`,
      'assistant: ',
      'tool: b',
    ])
    expect((await run.result).outcome).toBe('completed')
  })

  test('is left alone up to four fifths of it, and without it', async () => {
    for (const [contextTokens, tokens] of [
      [1000, 800],
      [undefined, 5_000_000],
    ] as const) {
      const model = scriptedModel([calling('a', 1), calling('b', tokens), 'Done.'])
      const { shorten, asked } = keeping(0)
      const { outcome } = await agent({ model, tools: [echo], contextTokens, shorten }).run('Echo.')
      expect([outcome, asked]).toEqual(['completed', []])
    }
  })

  test('is not shortened again before it has become long again', async () => {
    const unknown: ScriptRound = [{ call: 'echo', input: { value: 'c' } }]
    const model = scriptedModel([calling('a', 10), calling('b', 900), unknown, calling('d', 900), 'Done.'])
    const { shorten, asked } = keeping(2)
    await agent({ model, tools: [echo], contextTokens: 1000, shorten }).run(chat as InputMessage[])
    expect(asked).toHaveLength(2)
  })

  test('is sent as it is if it cannot be shortened: it still fits', async () => {
    const model = scriptedModel([calling('a', 10), calling('b', 900), 'Done.'])
    const shorten = () => Promise.reject(new Error('out of ink'))
    const run = agent({ model, tools: [echo], contextTokens: 1000, shorten }).stream('Echo.')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done.' })
    expect(saidTo(model, 2)).toHaveLength(5)
  })

  test('hears in this round what is said while it is shortened', async () => {
    const model = scriptedModel([calling('a', 10), calling('b', 900), 'Done.'])
    const run: Run = agent({
      model,
      tools: [echo],
      contextTokens: 1000,
      shorten: async (): Promise<Shortened> => {
        run.steer('Hurry.')
        return { keep: 0, summary: 'Echoed a.' }
      },
    }).stream('Echo.')
    expect((await run.result).outcome).toBe('completed')
    expect(saidTo(model, 2)).toEqual([
      `user: ${label}\n\nEchoed a.\n\n${requestLabel}\n\nEcho.`,
      'assistant: ',
      'tool: b',
      'user: Hurry.',
    ])
  })
})

describe('what is cut', () => {
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
    // Where it would part a call from its results, it is moved before the call.
    [3, ['', 'a', 'b', 'c', 'Echoed.', 'Again.']],
    [4, ['', 'a', 'b', 'c', 'Echoed.', 'Again.']],
    [5, ['', 'a', 'b', 'c', 'Echoed.', 'Again.']],
    [0, ['Again.']],
  ])('leaves calls with their results, and the last words: %i to keep', async (keep, kept) => {
    // The first request goes unanswered, so that there is something before the call to replace.
    const input: InputMessage[] = [
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'Hello.' },
      ...working,
    ]
    const model = scriptedModel([tooLong, 'Done.'])
    expect(
      (await agent({ model, tools: [echo], shorten: keeping(keep).shorten }).stream(input).result).error,
    ).toBe(undefined)
    expect(model.requests[1]?.messages.slice(1).map(textOf)).toEqual(kept)
  })

  test('is never the last request, however much was done for it since', async () => {
    const call = (value: string): ScriptRound => [{ call: 'echo', input: { value } }]
    const model = scriptedModel([call('a'), call('b'), tooLong, call('c'), tooLong, 'Done.'])
    const input = { role: 'user', content: 'Echo a, b and c.' } as const
    const run = agent({ model, tools: [echo], shorten: keeping(0, 'Some are echoed.').shorten }).stream(input)
    expect((await run.result).outcome).toBe('completed')
    const request = `user: ${label}\n\nSome are echoed.\n\n${requestLabel}\n\nEcho a, b and c.`
    expect(saidTo(model, 3)).toEqual([request])
    expect(saidTo(model, 5)).toEqual([request])
    expect(transcriptOf(foldLog(await collect(run)))).toHaveLength(1 + 2 * 3 + 1)
  })

  test('leaves what was said while it was worked on, and not what is done', async () => {
    const input: InputMessage[] = [
      ...chat.slice(0, 4),
      ...working.slice(0, 5),
      { role: 'user', content: 'Louder.' },
      { role: 'user', content: 'And faster.' },
    ]
    const more: ScriptRound = [{ call: 'echo', input: { value: 'louder' } }]
    const model = scriptedModel([more, tooLong, 'Done.'])
    await agent({ model, tools: [echo], shorten: keeping(2, 'Echoed.').shorten }).run(input)
    expect(saidTo(model, 2)).toEqual([
      `user: ${[label, 'Echoed.', requestLabel, 'Echo this.', 'Louder.', 'And faster.'].join('\n\n')}`,
      'assistant: ',
      'tool: louder',
    ])
  })

  test('leaves the pictures in the last request', async () => {
    const model = scriptedModel([[{ call: 'echo', input: { value: 'a' } }], tooLong, 'A cat.'])
    const image = { type: 'image', data: 'aGk=', mediaType: 'image/png' } as const
    const content = [{ type: 'text', text: 'What is this?' } as const, image]
    await agent({ model, tools: [echo], shorten: keeping(0, 'Echoed.').shorten }).run({
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

  test('is never what the system says', async () => {
    const input: InputMessage[] = [
      { role: 'system', content: 'Be kind.' },
      ...chat.slice(0, 2),
      { role: 'system', content: 'Be quick.' },
      ...chat.slice(2),
    ]
    const model = scriptedModel([tooLong, tooLong, 'You are Ada.'])
    const run = agent({ model, shorten: keeping([3, 2], 'Ada.').shorten }).stream(input)
    expect((await run.result).outcome).toBe('completed')
    const front = ['system: Be kind.', 'system: Be quick.', `user: ${label}\n\nAda.`]
    expect(saidTo(model, 1)).toEqual([
      ...front,
      'user: I like tea.',
      'assistant: So do I.',
      'user: Who am I?',
    ])
    expect(saidTo(model, 2)).toEqual([...front, 'assistant: So do I.', 'user: Who am I?'])
    const whole = transcriptOf(foldLog(await collect(run)))
    expect(whole.map(textOf)).toEqual([...input.map(({ content }) => content), 'You are Ada.'])
  })
})

describe('a strategy', () => {
  test.each([
    ['a word', 'short', 'what it gives must be an object, not a string'],
    [
      'nothing to keep',
      { summary: 'Ada.' },
      "the field 'keep' must be a whole number of at least 0, not null",
    ],
    ['less than nothing to keep', { keep: -1, summary: 'Ada.' }, "the field 'keep' must be a whole number"],
    ['half a message to keep', { keep: 0.5, summary: 'Ada.' }, "the field 'keep' must be a whole number"],
    ['no summary', { keep: 1 }, "the field 'summary' must be text"],
    ['an empty summary', { keep: 1, summary: ' ' }, "the field 'summary' must be text"],
    ['a misspelt field', { keeps: 1, summary: 'Ada.' }, "'keeps' does not exist: did you mean 'keep'?"],
  ])('that gives %s fails the run with `hook_failed`', async (_, given, problem) => {
    const model = scriptedModel([tooLong])
    const { outcome, error } = await agent({ model, shorten: () => given as never }).stream(chat).result
    expect(outcome).toBe('failed')
    expect(error).toMatchObject({ code: 'hook_failed', op: 'shorten' })
    expect(error?.message).toContain('shorten cannot be followed: ')
    expect(error?.message).toContain(problem)
  })

  test('is refused if it is none, and so is a limit that is no number of tokens', () => {
    const model = scriptedModel([])
    expect(() => agent({ model, shorten: true as never }).stream('Hi')).toThrow(
      "the agent option 'shorten' must be false or a function, such as summarize() makes, not a boolean",
    )
    expect(() => agent({ model, contextTokens: 0 }).stream('Hi')).toThrow(
      "'contextTokens' must be a whole number",
    )
  })

  test('is told when the run is over, which does not wait for it', async () => {
    const model = scriptedModel([tooLong])
    const begun = Promise.withResolvers<AbortSignal>()
    const run = agent({
      model,
      shorten: ({ signal }) => {
        begun.resolve(signal)
        return new Promise(() => {})
      },
    }).stream(chat)
    const signal = await begun.promise
    expect(signal.aborted).toBe(false)
    run.cancel('enough')
    expect(signal.aborted).toBe(true)
    expect(await run.result).toMatchObject({ outcome: 'cancelled', error: { message: 'enough' } })
    expect((await collect(run)).at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
  })

  test('changes nothing any more when it comes back after the end', async () => {
    const model = scriptedModel([tooLong])
    const back = Promise.withResolvers<{ keep: number; summary: string }>()
    const begun = Promise.withResolvers<void>()
    const run = agent({
      model,
      shorten: () => {
        begun.resolve()
        return back.promise
      },
    }).stream(chat)
    await begun.promise
    run.cancel()
    back.resolve({ keep: 1, summary: 'Ada.' })
    await run.result
    await new Promise(setImmediate)
    expect(typesOf(await collect(run))).toEqual(['run-start', 'round-start', 'round-end', 'run-end'])
    expect(model.requests).toHaveLength(1)
  })

  test('is bound by the time of the run', async () => {
    const clock = fakeClock()
    const model = scriptedModel([tooLong])
    const run = agent({ model, clock, runMs: 5000, shorten: () => new Promise(() => {}) }).stream(chat)
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'failed', error: { code: 'timeout' } })
  })

  test('cannot change the conversation by what it is given', async () => {
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const run = agent({
      model,
      shorten: ({ messages }) => {
        ;(messages as Message[]).length = 1
        return { keep: 1, summary: 'Ada.' }
      },
    }).stream(chat)
    await run.result
    expect(saidTo(model, 1)).toEqual([`user: ${label}\n\nAda.`, 'user: Who am I?'])
  })

  test('is not in the way of a plan', async () => {
    const model = scriptedModel([tooLong, [{ call: 'echo', input: { value: 'Ada' } }]])
    const plan = agent({ model, tools: [echo], shorten: keeping(1).shorten }).plan(chat)
    expect((await plan.result).calls).toMatchObject([{ name: 'echo', input: { value: 'Ada' } }])
  })

  test('does not hold up calls that wait for nothing', async () => {
    const { tool, open, started } = gate()
    const model = scriptedModel([[{ call: 'gate' }, { usage: { inputTokens: 900 } }], 'Done.'])
    const { shorten, asked } = keeping(1)
    const run = agent({ model, tools: [tool], contextTokens: 1000, shorten }).stream(chat)
    await started
    expect(asked).toEqual([])
    open('opened')
    expect((await run.result).text).toBe('Done.')
    expect(asked).toHaveLength(1)
  })
})

describe('asking a model on the side', () => {
  const asking =
    (question: Parameters<LongConversation['ask']>[0]): Shorten =>
    async ({ ask }) => ({ keep: 1, summary: await ask(question) })

  test('sends the question and nothing else, and counts what it took', async () => {
    const model = scriptedModel([
      tooLong,
      [{ reasoning: 'Let me see.' }, { text: ' Ada. ' }, { usage: { inputTokens: 30, outputTokens: 4 } }],
      [{ text: 'You are Ada.' }, { usage: { inputTokens: 10, outputTokens: 3 } }],
    ])
    const run = agent({
      model,
      tools: [echo],
      settings: { temperature: 1, maxOutputTokens: 5, headers: { 'x-team': 'desk' } },
      shorten: asking({ prompt: 'Who is it?', system: 'Read closely.' }),
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

  test('asks another model if it is told to', async () => {
    const other = scriptedModel(['Ada.'], { id: 'other' })
    const model = scriptedModel([tooLong, 'You are Ada.'])
    const run = agent({ model, shorten: asking({ prompt: 'Who is it?', model: other }) }).stream(chat)
    expect((await run.result).outcome).toBe('completed')
    expect(other.requests).toHaveLength(1)
  })

  test('asks again what failed and may pass, as the agent does', async () => {
    const clock = fakeClock()
    const busy: ScriptRound = [{ text: 'A' }, { error: { code: 'overloaded', message: 'busy' } }]
    const model = scriptedModel([tooLong, busy, busy, 'Ada.', 'You are Ada.'], { clock })
    const run = agent({ model, clock, shorten: asking({ prompt: 'Who is it?' }) }).stream(chat)
    expect((await clock.until(run.result)).outcome).toBe('completed')
    expect(of(await collect(run), 'summary')).toMatchObject([{ message: { content: `${label}\n\nAda.` } }])
  })

  const failures: [string, ScriptRound, string][] = [
    ['fails', [{ error: { code: 'auth', message: 'bad key' } }], 'bad key'],
    ['is refused', [{ text: 'No.' }, { finish: 'refusal' }], "the model 'scripted' gave no answer (refusal)"],
    ['has no words', [{ reasoning: 'Hm.' }], "the model 'scripted' gave no answer (stop)"],
    ['never comes', [{ hang: true }], "the model 'scripted' did not begin to answer for 1000 ms"],
  ]
  test.each(failures)('rejects if the answer %s', async (_, answer, reason) => {
    const clock = fakeClock()
    const model = scriptedModel([tooLong, answer], { clock })
    const options = { model, clock, firstEventMs: 1000, retry: { attempts: 1 } }
    const run = agent({ ...options, shorten: asking({ prompt: 'Who is it?' }) }).stream(chat)
    const { error } = await clock.until(run.result)
    expect(error).toBeInstanceOf(MillraceError)
    expect(error?.message).toBe(`prompt is too long; and the conversation could not be shortened: ${reason}`)
  })

  test('refuses what is no question', async () => {
    const model = scriptedModel([tooLong])
    const run = agent({ model, shorten: asking({ promt: 'Who?' } as never) }).stream(chat)
    expect((await run.result).error?.message).toContain(
      "ask: the field 'promt' does not exist: did you mean 'prompt'?",
    )
    const silent = scriptedModel([tooLong])
    const without = agent({ model: silent, shorten: asking({} as never) }).stream(chat)
    expect((await without.result).error?.message).toContain("ask: the field 'prompt' must be text")
    expect(silent.requests).toHaveLength(1)
  })

  test('ends with the run, its request too', async () => {
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
    const run = agent({ model, shorten: asking({ prompt: 'Who is it?', model: other }) }).stream(chat)
    await expect.poll(() => hanging.requests.length).toBe(1)
    run.cancel('enough')
    expect(aborted).toBe(true)
    for await (const event of run) events.push(event)
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
  })
})
