import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { InputMessage, Message, ModelRequest } from '../protocol/index.ts'
import { textOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { AgentOptions } from './options.ts'
import { summarize } from './summarize.ts'

// A summary of a conversation that still fits is asked for at its end, so that the provider finds
// the conversation in its prompt cache.

const limit = 10_000
const label = '[Summary of the conversation so far, in place of its earlier messages]'

const look = tool({
  name: 'look',
  description: 'Looks at a page',
  input: z.object({ page: z.number() }),
  run: ({ page }) => `Page ${page}: ${'It was a dark and stormy night. '.repeat(60)}`,
})

const tokensOf = ({ messages }: ModelRequest) => Math.ceil(JSON.stringify(messages).length / 4)
const isQuestion = ({ messages }: ModelRequest) => lastText(messages).startsWith('Do not continue')
const isOldWay = ({ messages }: ModelRequest) => lastText(messages).startsWith('<conversation>')
const lastText = (messages: readonly Message[]) => textOf(messages.at(-1) as Message)

/** Looks at one page after the other. Writes summaries when asked to. */
function reader(pages: number, summary: ScriptRound = 'Some pages were read.') {
  let page = 0
  return scriptedModel((request): ScriptRound => {
    const usage = { usage: { inputTokens: tokensOf(request), outputTokens: 20 } }
    if (isOldWay(request)) return [{ text: 'The old way.' }, usage]
    if (isQuestion(request)) return typeof summary === 'string' ? [{ text: summary }, usage] : summary
    if (++page > pages) return [{ text: 'The end.' }, usage]
    return [{ text: 'Next.' }, { call: 'look', input: { page } }, usage]
  })
}

async function read(
  { requests, ...model }: ReturnType<typeof reader>,
  options: Partial<AgentOptions> = {},
  input: string | InputMessage[] = 'Read the book.',
) {
  const run = agent({
    model,
    system: 'You read books.',
    tools: [look],
    maxContextTokens: limit,
    maxRounds: 100,
    ...options,
  }).stream(input)
  const events = await collect(run)
  expect(await run.result).toMatchObject({ outcome: 'completed', text: 'The end.' })
  return { requests, events, summaries: of(events, 'summary') }
}

const startsWith = (messages: readonly Message[], start: readonly Message[]) => {
  expect(messages.slice(0, start.length)).toEqual(start)
}

test('every request starts with the one before it, except after a summary', async () => {
  const { requests, summaries } = await read(reader(60))
  expect(summaries.length).toBeGreaterThan(2)
  let questions = 0
  for (const [at, request] of requests.entries()) {
    expect(request.tools).toEqual(requests[0]?.tools)
    expect(request.settings).toEqual(requests[0]?.settings)
    expect(request).not.toHaveProperty('toolChoice')
    expect(request.messages[0]).toEqual({ role: 'system', content: 'You read books.' })
    const before = requests[at - 1]
    if (!before) continue
    if (isQuestion(before)) {
      expect(request.messages[1]).toEqual(summaries[questions]?.message)
      questions++
    } else startsWith(request.messages, before.messages)
  }
  expect(questions).toBe(summaries.length)
})

test('the question is the last message, and is not part of the conversation', async () => {
  const { requests, summaries } = await read(reader(20))
  const at = requests.findIndex(isQuestion)
  const [question, before] = [requests[at] as ModelRequest, requests[at - 1] as ModelRequest]
  expect(question).toEqual({
    ...before,
    messages: [...before.messages, { role: 'user', content: expect.stringContaining('summarize') }],
  })
  expect(textOf(summaries[0]?.message as Message)).toContain(`${label}\n\nSome pages were read.`)
  expect(summaries[0]).toMatchObject({ usage: { inputTokens: tokensOf(question) }, model: 'scripted' })
  expect(requests.slice(at + 1).some(isQuestion)).toBe(summaries.length > 1)
  expect(JSON.stringify(requests[at + 1])).not.toContain('Do not continue')
})

test('a prompt of the caller replaces the instructions', async () => {
  const { requests } = await read(reader(20), { compact: summarize({ prompt: 'Write a haiku.' }) })
  const asked = lastText((requests.find(isQuestion) as ModelRequest).messages)
  expect(asked).toMatch(/^Do not continue .*\nWrite a haiku\.$/)
})

describe('the old way is used', () => {
  const usage = { usage: { inputTokens: 9000, outputTokens: 1 } }

  test.each<[string, ScriptRound]>([
    ['calls a tool', [{ text: 'Let me look.' }, { call: 'look', input: { page: 1 } }, usage]],
    ['refuses', [{ text: 'No.' }, { finish: 'refusal' }, usage]],
    ['says nothing', [{ reasoning: 'Hm.' }, usage]],
    ['has no room', [{ error: { code: 'context_overflow', message: 'too long' } }]],
  ])('if the model %s, and both requests are paid', async (_, answer) => {
    const { requests, summaries } = await read(reader(20, answer))
    const at = requests.findIndex(isQuestion)
    expect(isOldWay(requests[at + 1] as ModelRequest)).toBe(true)
    expect(requests[at + 1]?.tools).toEqual([])
    const asked = typeof answer !== 'string' && answer.includes(usage) ? 9000 : 0
    expect(textOf(summaries[0]?.message as Message)).toContain(`${label}\n\nThe old way.`)
    expect(summaries[0]?.usage?.inputTokens).toBe(asked + tokensOf(requests[at + 1] as ModelRequest))
  })

  test('not if the provider is busy: the conversation is sent as it is', async () => {
    const busy: ScriptRound = [{ error: { code: 'overloaded', message: 'busy' } }]
    const { requests } = await read(reader(20, busy), { retry: { attempts: 1 } })
    const at = requests.findIndex(isQuestion)
    expect(at).toBeGreaterThan(0)
    expect(isOldWay(requests[at + 1] as ModelRequest)).toBe(false)
    startsWith(requests[at + 1]?.messages ?? [], requests[at - 1]?.messages ?? [])
  })

  const clerk = () => scriptedModel(() => 'Written by a clerk.', { id: 'clerk' })
  const replaced: Partial<AgentOptions> = { prepareRound: ({ messages }) => ({ messages: [...messages] }) }
  test.each<[string, Partial<AgentOptions>]>([
    ['another model writes the summary', { compact: summarize({ model: clerk() }) }],
    ['a hook replaces the messages', replaced],
    ['answers are too short for a summary', { settings: { maxOutputTokens: 500 } }],
    ['the conversation leaves too little room', { maxContextTokens: 4000 }],
  ])('without asking first if %s', async (_, options) => {
    const { requests, summaries } = await read(reader(20), options)
    expect(summaries.length).toBeGreaterThan(0)
    expect(requests.some(isQuestion)).toBe(false)
  })

  test('without asking first if the answer has a schema', async () => {
    const output = z.object({ verdict: z.string() })
    const usage = { usage: { inputTokens: 8500 } }
    const model = scriptedModel((request, index): ScriptRound => {
      if (isOldWay(request)) return 'The old way.'
      return index === 0 ? [{ call: 'look', input: { page: 1 } }, usage] : '{"verdict":"dark"}'
    })
    const input: InputMessage[] = [
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'x'.repeat(20_000) },
      { role: 'user', content: 'Read.' },
    ]
    const run = agent({ model, tools: [look], maxContextTokens: limit, output }).stream(input)
    expect((await run.result).output).toEqual({ verdict: 'dark' })
    expect(model.requests.map(isOldWay)).toEqual([false, true, false])
  })

  test('after an overflow', async () => {
    const model = scriptedModel([
      [{ error: { code: 'context_overflow', message: 'too long' } }],
      'The old way.',
      'The end.',
    ])
    const input: InputMessage[] = [
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'x'.repeat(20_000) },
      { role: 'user', content: 'Read.' },
    ]
    await read(model, {}, input)
    expect(model.requests.map(isOldWay)).toEqual([false, true, false])
  })
})

test('a tool choice that forces a call is left out of the question', async () => {
  const usage = { usage: { inputTokens: 8500 } }
  const model = scriptedModel([
    [{ call: 'look', input: { page: 1 } }, usage],
    [{ text: 'In short.' }, usage],
    'The end.',
  ])
  const input: InputMessage[] = [
    { role: 'user', content: 'Hello.' },
    { role: 'assistant', content: 'x'.repeat(20_000) },
    { role: 'user', content: 'Read.' },
  ]
  await read(model, { toolChoice: 'required' }, input)
  expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', undefined, undefined])
  expect(isQuestion(model.requests[1] as ModelRequest)).toBe(true)
})

test('ask() rejects a question that cannot follow the conversation', async () => {
  const problems: unknown[] = []
  const other = scriptedModel(['Other.'])
  const { requests } = await read(reader(20), {
    compact: async ({ ask }) => {
      for (const more of [{ system: 'Be brief.' }, { model: other }])
        await ask({ prompt: 'Why?', conversation: true, ...more }).catch((error) => problems.push(error))
      return { keep: 1, summary: await ask({ prompt: 'Do not continue. Why?', conversation: true }) }
    },
  })
  expect(problems[0]).toMatchObject({ code: 'invalid_input', op: 'ask' })
  expect(problems[1]).toMatchObject({ code: 'invalid_input', op: 'ask' })
  expect(other.requests).toEqual([])
  expect(requests.filter(isQuestion).length).toBeGreaterThan(0)
})
