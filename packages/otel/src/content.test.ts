import type { AgentInput, AgentOptions, JsonObject, ToolResultPart } from 'millrace'
import { agent, millrace, summarize, tool, toolContent } from 'millrace'
import type { ScriptRound } from 'millrace/testing'
import { script, scriptedModel } from 'millrace/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import { contentOf, wholeContentOf } from './content.test-kit.ts'
import { measured, named, only } from './otel.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const returning = (name: string, output: readonly ToolResultPart[]) =>
  tool({ name, description: `Returns ${name}`, input: z.object({}), run: () => toolContent(output) })

const tools = [
  tool({
    name: 'add',
    description: 'Adds',
    input: z.object({ to: z.number() }),
    run: ({ to }) => ({ sum: to + 1 }),
  }),
  returning('words', [{ type: 'text', text: 'plain' }]),
  returning('picture', [
    { type: 'text', text: 'see' },
    { type: 'json', value: { wide: 3 } },
    { type: 'image', data: 'AAAA', mediaType: 'image/png' },
  ]),
]

/** The spans of a run, with content. */
async function traced(
  rounds: readonly ScriptRound[],
  { input = 'Well?', ...options }: Partial<AgentOptions<unknown, undefined>> & { input?: AgentInput } = {},
) {
  const seen = measured({ content: true })
  const model = scriptedModel(rounds, { id: 'gpt' })
  const desk = agent({
    name: 'desk',
    model,
    tools,
    retry: { baseMs: 0 },
    telemetry: seen.telemetry,
    ...options,
  })
  const run = desk.stream(input)
  for await (const event of run) if (event.type === 'text' && event.text === 'Stop me') run.cancel('enough')
  return { spans: seen.spans(), result: await run.result }
}

const text = (content: string) => ({ type: 'text', content })
const user = (...parts: object[]) => ({ role: 'user', parts })
const output = (finish_reason: string, ...parts: object[]) => [{ role: 'assistant', parts, finish_reason }]
const opaque = { provider: 'scripted', data: 'signed' }

describe('with content', () => {
  test('a model call has its input and output in the format of the conventions', async () => {
    const { spans } = await traced(
      [
        [{ reasoning: 'Hm.', opaque }, { text: 'Let me see.' }, { call: 'add', input: { to: 1 }, id: 'c1' }],
        'Two.',
      ],
      { system: 'Be brief.' },
    )
    const [first, second] = named(spans, 'chat gpt').map(wholeContentOf)
    const thought = { type: 'reasoning', content: 'Hm.' }
    const call = { type: 'tool_call', id: 'c1', name: 'add', arguments: { to: 1 } }
    expect(first).toMatchObject({
      system: [text('Be brief.')],
      input: [user(text('Well?'))],
      tools: [{ type: 'function', name: 'add', description: 'Adds', parameters: { type: 'object' } }, {}, {}],
    })
    expect(first?.output).toEqual(output('tool_call', thought, text('Let me see.'), call))
    expect(second?.input).toEqual([
      user(text('Well?')),
      { role: 'assistant', parts: [thought, text('Let me see.'), call] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: { sum: 2 } }] },
    ])
    expect(second?.output).toEqual(output('stop', text('Two.')))
  })

  test('a run has its input and its last answer', async () => {
    const { spans } = await traced([[{ call: 'add', input: { to: 1 } }], 'Two.'], { system: 'Be brief.' })
    const run = wholeContentOf(only(spans, 'invoke_agent desk'))
    expect(run).toEqual({ input: [user(text('Well?'))], output: output('stop', text('Two.')) })
  })

  test('a run of a thread has its input too, although `run-start` does not contain it', async () => {
    const seen = measured({ content: true })
    const model = scriptedModel(['One.', 'Two.'], { id: 'gpt' })
    const app = millrace({ agents: agent({ name: 'desk', model }), telemetry: seen.telemetry })
    open.push(app)
    for (const message of ['First?', 'Then?']) {
      await app.thread('t').send(message)
      await untilIdle(app.thread('t'))
    }
    const inputs = named(seen.spans(), 'invoke_agent desk').map((run) =>
      contentOf(run, 'gen_ai.input.messages'),
    )
    const before = [user(text('First?')), { role: 'assistant', parts: [text('One.')] }]
    expect(inputs).toEqual([[user(text('First?'))], [...before, user(text('Then?'))]])
  })

  test('a tool call has its arguments and its result, whatever their type', async () => {
    const { spans } = await traced([
      [
        { call: 'add', input: { to: 1 }, id: 'c1' },
        { call: 'words', id: 'c2' },
        { call: 'picture', id: 'c3' },
      ],
      'Done.',
    ])
    const of = (name: string) => only(spans, `execute_tool ${name}`).attributes
    const picture = [
      text('see'),
      { type: 'json', content: { wide: 3 } },
      { type: 'blob', modality: 'image', mime_type: 'image/png', content: '' },
    ]
    expect(of('add')).toMatchObject({
      'gen_ai.tool.call.arguments': '{"to":1}',
      'gen_ai.tool.call.result': '{"sum":2}',
    })
    expect(of('words')['gen_ai.tool.call.result']).toBe('plain')
    expect(JSON.parse(String(of('picture')['gen_ai.tool.call.result']))).toEqual(picture)
    const input = contentOf(named(spans, 'chat gpt')[1], 'gen_ai.input.messages') as JsonObject[]
    expect(input.slice(2)).toEqual([
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: { sum: 2 } }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c2', response: 'plain' }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c3', response: picture }] },
    ])
  })

  test('a provider tool becomes a call and a response', async () => {
    const { spans } = await traced([
      [
        { providerTool: 'search', input: { q: 'tea' }, output: ['leaf'], opaque },
        { providerTool: 'fetch', input: { url: 'x' }, opaque },
        { text: 'Leaf.' },
      ],
    ])
    const [message] = contentOf(only(spans, 'chat gpt'), 'gen_ai.output.messages') as { parts: object[] }[]
    expect(message?.parts).toEqual([
      {
        type: 'server_tool_call',
        id: expect.any(String),
        name: 'search',
        server_tool_call: { type: 'search', input: { q: 'tea' } },
      },
      {
        type: 'server_tool_call_response',
        id: expect.any(String),
        server_tool_call_response: { type: 'search', output: ['leaf'] },
      },
      {
        type: 'server_tool_call',
        id: expect.any(String),
        name: 'fetch',
        server_tool_call: { type: 'fetch', input: { url: 'x' } },
      },
      text('Leaf.'),
    ])
  })

  test('images and files have their addresses and types, but never their bytes', async () => {
    const { spans } = await traced(['Nice.'], {
      input: {
        role: 'user',
        content: [
          { type: 'image', url: 'https://example.org/a.png' },
          { type: 'image', url: 'data:image/webp;base64,QUJD' },
          { type: 'image', data: 'QUJD', mediaType: 'image/png' },
          { type: 'file', url: 'https://example.org/a.pdf', mediaType: 'application/pdf' },
          { type: 'file', data: 'QUJD', mediaType: 'audio/wav', name: 'a.wav' },
        ],
      },
    })
    const parts = [
      { type: 'uri', modality: 'image', uri: 'https://example.org/a.png' },
      { type: 'blob', modality: 'image', mime_type: 'image/webp', content: '' },
      { type: 'blob', modality: 'image', mime_type: 'image/png', content: '' },
      { type: 'uri', modality: 'document', mime_type: 'application/pdf', uri: 'https://example.org/a.pdf' },
      { type: 'blob', modality: 'audio', mime_type: 'audio/wav', content: '' },
    ]
    for (const name of ['invoke_agent desk', 'chat gpt'])
      expect(contentOf(only(spans, name), 'gen_ai.input.messages')).toEqual([user(...parts)])
  })

  test('unplayed text is not recorded, since it is not sent either', async () => {
    const { spans } = await traced(['Go on.'], {
      input: [
        { role: 'user', content: 'Tell me.' },
        { role: 'assistant', content: [{ type: 'text', text: 'Once', unplayed: ' upon a time' }] },
        { role: 'user', content: 'Stop.' },
        { role: 'assistant', content: [{ type: 'text', text: '', unplayed: 'There was' }] },
        { role: 'user', content: 'Well?' },
      ],
    })
    for (const name of ['invoke_agent desk', 'chat gpt'])
      expect(contentOf(only(spans, name), 'gen_ai.input.messages')).toEqual([
        user(text('Tell me.')),
        { role: 'assistant', parts: [text('Once')] },
        user(text('Stop.')),
        user(text('Well?')),
      ])
  })

  test('a call with invalid arguments is recorded as the model wrote it', async () => {
    const { spans } = await traced([[{ call: 'add', raw: '{"to": one', id: 'c1' }], 'Sorry.'])
    const [before, after] = named(spans, 'chat gpt')
    const call = { type: 'tool_call', id: 'c1', name: 'add', arguments: '{"to": one' }
    expect(only(spans, 'execute_tool add').attributes['gen_ai.tool.call.arguments']).toBe('{"to": one')
    expect(contentOf(before, 'gen_ai.output.messages')).toEqual(output('tool_call', call))
    expect(contentOf(after, 'gen_ai.input.messages')).toMatchObject([{}, { parts: [call] }, { role: 'tool' }])
  })

  test('a call that was cut off is part of the output of a truncated run', async () => {
    const cut = { call: 'add', raw: '{"to": 1', cut: true, id: 'c1' }
    const { spans, result } = await traced([[{ text: 'Adding.' }, cut, { finish: 'length' }]])
    expect(result.outcome).toBe('truncated')
    expect(contentOf(only(spans, 'invoke_agent desk'), 'gen_ai.output.messages')).toEqual(
      output('length', text('Adding.'), { type: 'tool_call', id: 'c1', name: 'add', arguments: '{"to": 1' }),
    )
  })

  test('retracted text is only on the span of the attempt that generated it', async () => {
    const { spans } = await traced([[{ text: 'I thi' }, { error: { code: 'overloaded' } }], 'Yes.'])
    const [failed, answered] = named(spans, 'chat gpt')
    expect(contentOf(failed, 'gen_ai.output.messages')).toEqual(output('error', text('I thi')))
    expect(contentOf(answered, 'gen_ai.output.messages')).toEqual(output('stop', text('Yes.')))
    expect(contentOf(only(spans, 'invoke_agent desk'), 'gen_ai.output.messages')).toEqual(
      output('stop', text('Yes.')),
    )
  })

  test('a run that is canceled between a retraction and the retry has no output', async () => {
    const seen = measured({ content: true })
    const model = scriptedModel([[{ text: 'I thi' }, { error: { code: 'overloaded' } }], 'Yes.'], {
      id: 'gpt',
    })
    const run = agent({ name: 'desk', model, retry: { baseMs: 60_000 }, telemetry: seen.telemetry }).stream(
      'Well?',
    )
    for await (const event of run) if (event.type === 'round-retry') run.cancel('enough')
    expect(contentOf(only(seen.spans(), 'chat gpt'), 'gen_ai.output.messages')).toEqual(
      output('error', text('I thi')),
    )
    expect(only(seen.spans(), 'invoke_agent desk').attributes).not.toHaveProperty('gen_ai.output.messages')
  })

  test('a run that is canceled or fails has its partial output', async () => {
    for (const last of [script.hanging('Stop me'), script.failing({ code: 'auth' }, 'So far')]) {
      const { spans, result } = await traced(last)
      expect(['canceled', 'failed']).toContain(result.outcome)
      for (const name of ['chat gpt', 'invoke_agent desk'])
        expect(contentOf(only(spans, name), 'gen_ai.output.messages')).toEqual(
          output('error', text(result.outcome === 'failed' ? 'So far' : 'Stop me')),
        )
    }
  })

  test('a summary call has its input, and the summary is in the input of the next call', async () => {
    const { spans } = await traced([[{ error: { code: 'context_overflow' } }], 'They met.', 'Ada.'], {
      compact: summarize({ keepChars: 0 }),
      input: [
        { role: 'user', content: 'I am Ada.' },
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: 'Who am I?' },
      ],
    })
    const [, aside, after] = named(spans, 'chat gpt')
    expect(aside?.attributes['millrace.aside']).toBe(true)
    expect(JSON.stringify(contentOf(aside, 'gen_ai.input.messages'))).toContain('I am Ada.')
    for (const attribute of ['gen_ai.tool.definitions', 'gen_ai.output.messages'])
      expect(aside?.attributes).not.toHaveProperty(attribute)
    expect(JSON.stringify(contentOf(after, 'gen_ai.input.messages'))).toContain('They met.')
  })
})
