import { describe, expect, test } from 'vitest'
import type { Message } from '../protocol/index.ts'
import { textOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { collect, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { SummarizeOptions } from './summarize.ts'
import { summarize } from './summarize.ts'

const overflow = { error: { code: 'context_overflow', message: 'prompt is too long' } } as const
const tooLong: ScriptRound = [overflow]
const label = '[Summary of the conversation so far, in place of its earlier messages]'

const user = (content: string): Message => ({ role: 'user', content })
const assistant = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const work = (callId: string, result: string): Message[] => [
  { role: 'assistant', content: [{ type: 'tool-call', callId, name: 'look', input: { at: callId } }] },
  { role: 'tool', callId, name: 'look', content: [{ type: 'text', text: result }] },
]

/**
 * Makes an agent's model reject a conversation once. Returns the prompts of the summarizer and what
 * the model read afterwards.
 */
async function compacted(
  input: readonly Message[],
  options: SummarizeOptions = {},
  answers: readonly ScriptRound[] = ['In short.'],
) {
  const clerk = scriptedModel(answers, { id: 'clerk' })
  const model = scriptedModel([tooLong, 'Done.'])
  const compact = summarize({ model: clerk, ...options })
  const run = agent({ model, compact }).stream(input)
  const result = await run.result
  return {
    result,
    events: await collect(run),
    clerk,
    asked: clerk.requests.map(({ messages }) => textOf(messages.at(-1) as Message)),
    read: model.requests[1]?.messages ?? [],
  }
}

describe('a summary', () => {
  const long = [
    user('I am Ada.'),
    assistant('x'.repeat(1000)),
    user('Who am I?'),
    assistant('Ada.'),
    user('Sure?'),
  ]

  test('replaces the oldest part, and keeps at most a quarter', async () => {
    const { read, asked } = await compacted(long)
    expect(read.map(textOf)).toEqual([`${label}\n\nIn short.`, 'Who am I?', 'Ada.', 'Sure?'])
    expect(asked).toEqual([
      `<conversation>\nUser: I am Ada.\n\nAssistant: ${'x'.repeat(1000)}\n</conversation>\n\nSummarize this conversation.`,
    ])
  })

  test('keeps at most `keepChars`, plus unanswered messages', async () => {
    const { read } = await compacted(long, { keepChars: 10 })
    expect(read.map(textOf)).toEqual([`${label}\n\nIn short.`, 'Ada.', 'Sure?'])
    const { read: least } = await compacted(long, { keepChars: 0 })
    expect(least.map(textOf)).toEqual([`${label}\n\nIn short.`, 'Sure?'])
  })

  test('is written without the messages that are kept', async () => {
    const { asked } = await compacted([...long.slice(0, 4), user('y'.repeat(5000))], { keepChars: 0 })
    expect(asked[0]).not.toContain('y')
  })

  test('keeps calls and their results together', async () => {
    const before = [user('Look.'), assistant('z'.repeat(8000)), user('Now.')]
    const { read } = await compacted([...before, ...work('a', 'b'.repeat(700))])
    expect(read.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'tool'])
    const { read: none } = await compacted([...before, ...work('a'.repeat(3000), 'b'.repeat(700))])
    expect(none.map(({ role }) => role)).toEqual(['user'])
  })

  test('covers text, calls and results, with long results truncated', async () => {
    const picture: Message = {
      role: 'user',
      content: [
        { type: 'text', text: 'See:' },
        { type: 'image', data: 'aGk=', mediaType: 'image/png' },
        { type: 'file', data: 'aGk=', mediaType: 'text/csv', name: 'list.csv' },
      ],
    }
    const found: Message = {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Where could it be?' },
        {
          type: 'provider-tool',
          callId: 'p',
          name: 'web_search',
          input: { q: 'tea' },
          output: { hits: 2 },
          opaque: { provider: 'scripted', data: 'sealed' },
        },
        { type: 'text', text: 'Found it.' },
      ],
    }
    const failed: Message[] = [
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'c', name: 'look', input: {}, raw: '{"at' }],
      },
      {
        role: 'tool',
        callId: 'c',
        name: 'look',
        content: [{ type: 'json', value: { no: 1 } }],
        isError: true,
      },
    ]
    const input = [
      { role: 'system', content: 'Be kind.' } as const,
      picture,
      found,
      user('Look again.'),
      ...work('a', `${'r'.repeat(1999)}💡${'r'.repeat(2999)}`),
      ...failed,
      user('Thanks.'),
    ]
    const { asked } = await compacted(input, { keepChars: 0 })
    expect(asked).toEqual([
      [
        '<conversation>',
        'User: See:\n[an image]\n[a file: list.csv]',
        '',
        'Assistant: [web_search: {"input":{"q":"tea"},"output":{"hits":2}}]\nFound it.',
        '',
        'User: Look again.',
        '',
        'Assistant: [calls look (a): {"at":"a"}]',
        '',
        // A cut never splits a surrogate pair.
        `Result of look (a): ${'r'.repeat(1999)} [… 3001 characters left out]`,
        '',
        'Assistant: [calls look (c): {"at]',
        '',
        'Result of look (c, an error): {"no":1}',
        '</conversation>',
        '',
        'Summarize this conversation.',
      ].join('\n'),
    ])
  })

  test('includes the previous summary', async () => {
    const model = scriptedModel([tooLong, tooLong, 'Done.'])
    const clerk = scriptedModel(['Ada came.', 'Ada came and asked.'])
    const input = [
      user('I am Ada.'),
      assistant('x'.repeat(100)),
      user('y'.repeat(500)),
      assistant('z'.repeat(150)),
      user('Sure?'),
    ]
    const { outcome } = await agent({ model, compact: summarize({ model: clerk }) }).run(input)
    expect(outcome).toBe('completed')
    expect(textOf(clerk.requests[1]?.messages.at(-1) as Message)).toContain(`User: ${label}\n\nAda came.`)
    expect(model.requests[2]?.messages[0]).toEqual(user(`${label}\n\nAda came and asked.`))
  })

  test('is made in pieces if one request would be too long, each with the summary so far', async () => {
    const paragraphs = Array.from({ length: 6 }, (_, at) => `${at}`.repeat(600))
    const input = [...paragraphs.map(user), assistant('Well.'), user('Sure?')]
    const answers = ['One.', 'Two.', 'Three.'].map((text) => [{ text }, { usage: { inputTokens: 5 } }])
    const { asked, read, result } = await compacted(input, { maxChars: 1300, keepChars: 0 }, answers)
    expect(asked.map((prompt) => prompt.match(/\d{600}/g))).toEqual([
      paragraphs.slice(0, 2),
      paragraphs.slice(2, 4),
      paragraphs.slice(4),
    ])
    expect(asked[1]).toMatch(/^<summary>\nOne\.\n<\/summary>\n\n<conversation>\nUser: 2/)
    expect(asked[1]).toMatch(/Write one summary of both: .*$/)
    expect(textOf(read[0] as Message)).toBe(`${label}\n\nThree.`)
    expect(result.usage.inputTokens).toBe(15)
  })

  test('splits a paragraph that is longer than a piece between two characters', async () => {
    const text = '💡'.repeat(1501)
    const answers = Array<string>(4).fill('Bulbs.')
    const { asked } = await compacted(
      [user(text), assistant('Well.'), user('Sure?')],
      { maxChars: 1001 },
      answers,
    )
    const pieces = asked.map(
      (prompt) => /<conversation>\n([\s\S]*)\n<\/conversation>/.exec(prompt)?.[1] ?? '',
    )
    expect(pieces.length).toBeGreaterThan(2)
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true)
    expect(pieces.join('').match(/💡/gu)).toHaveLength(1501)
  })

  test('is made in smaller pieces if the model says that they are too long', async () => {
    const input = [user('1'.repeat(3000)), user('2'.repeat(3000)), assistant('Well.'), user('Sure?')]
    const { asked, read } = await compacted(input, {}, [tooLong, 'Ones.', 'Twos.'])
    expect(asked.map((prompt) => prompt.match(/\d/g)?.length)).toEqual([6000, 3000, 3000])
    expect(textOf(read[0] as Message)).toBe(`${label}\n\nTwos.`)
  })

  test('fails with both errors if not even a small piece fits', async () => {
    const clerk = Array<ScriptRound>(9).fill([
      { error: { code: 'context_overflow', message: 'no room at all' } },
    ])
    const { result, asked } = await compacted(
      [user('1'.repeat(9000)), assistant('Well.'), user('Sure?')],
      {},
      clerk,
    )
    expect(result.error).toMatchObject({
      code: 'context_overflow',
      message: 'prompt is too long; compacting the conversation failed: no room at all',
    })
    expect(asked.length).toBeLessThan(6)
    expect(result.messages).toHaveLength(3)
  })

  test('uses a custom prompt', async () => {
    const { clerk } = await compacted(long, { prompt: 'Write a haiku.' })
    expect(clerk.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'Write a haiku.' })
    const { clerk: usual } = await compacted(long)
    expect(usual.requests[0]?.messages[0]).toMatchObject({
      role: 'system',
      content: expect.stringMatching(/^You summarize/),
    })
  })

  test("is the agent's default, with its own model, and its usage counts for the run", async () => {
    const model = scriptedModel([
      tooLong,
      [{ text: 'In short.' }, { usage: { inputTokens: 20, outputTokens: 2 } }],
      [{ text: 'Yes, Ada.' }, { usage: { inputTokens: 8, outputTokens: 1 } }],
    ])
    const run = agent({ model }).stream(long)
    expect(await run.result).toMatchObject({
      outcome: 'completed',
      text: 'Yes, Ada.',
      usage: { inputTokens: 28, outputTokens: 3 },
    })
    expect(of(await collect(run), 'summary')).toMatchObject([{ replaces: 2, usage: { inputTokens: 20 } }])
  })
})

describe('near the limit', () => {
  async function summaries(chars: number): Promise<number> {
    const clerk = scriptedModel(['In short.'])
    const calling: ScriptRound = [{ call: 'none' }, { usage: { inputTokens: 9000 } }]
    const model = scriptedModel([calling, 'Done.'])
    const input = [user('I am Ada.'), assistant('x'.repeat(chars)), user('Who am I?')]
    const compact = summarize({ model: clerk })
    const run = agent({ model, compact, maxContextTokens: 10_000 }).stream(input)
    expect((await run.result).outcome).toBe('completed')
    return of(await collect(run), 'summary').length
  }

  test('a summary is made only if it saves at least a tenth of the limit', async () => {
    expect(await summaries(4000)).toBe(1)
    expect(await summaries(3900)).toBe(0)
  })
})

test.each([
  [{ keepChar: 5 }, "the option 'keepChar' does not exist: did you mean 'keepChars'?"],
  [{ model: 'gpt' }, "the option 'model' must be a Model"],
  [{ keepChars: -1 }, "the option 'keepChars' must be a whole number of at least 0"],
  [{ maxChars: 10 }, "the option 'maxChars' must be a whole number of at least 1000"],
  [{ prompt: '' }, "the option 'prompt' must be text, not empty"],
])('summarize() throws on %o', (options, problem) => {
  expect(() => summarize(options as never)).toThrow(problem)
})
