import type { Policy } from 'millrace'
import { agent, memoryStore, tool, toolContent } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { permission } from '../permission/permission.ts'
import { editorOf } from './editor.test-kit.ts'

const noInput = { jsonSchema: { type: 'object' } } as const
const pixel = 'iVBORw0KGgo='

/** Calls a tool for each message, and then says what came of it. */
function caller(name: string, input = {}) {
  return scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role !== 'tool') return [{ text: 'Let me see.' }, { call: name, input }]
    return `Result: ${JSON.stringify(last.content)}`
  })
}

/** A tool that changes a file, as the agent's rules see it. */
function editTool(path: string, ran: string[]) {
  return tool({
    name: 'edit',
    description: 'Edits a file',
    input: noInput,
    access: () => [{ kind: 'write', path }],
    display: () => ({
      kind: 'edit',
      title: `Edit ${path}`,
      locations: [{ path: `/project/${path}`, line: 3 }],
      diff: [{ path: `/project/${path}`, oldText: 'old', newText: 'new' }],
    }),
    run() {
      ran.push(path)
      return 'edited'
    },
  })
}

function editing(path: string, rules?: Policy) {
  const ran: string[] = []
  const model = caller('edit')
  return { ran, agent: agent({ model, tools: [editTool(path, ran)], permission: rules ?? permission() }) }
}

describe('a conversation', () => {
  test('begins with what the agent can do', async () => {
    const { initialize } = editorOf(agent({ model: scriptedModel(['Hi.']) }))
    expect(await initialize()).toEqual({
      protocolVersion: 1,
      agentInfo: { name: 'millrace', version: '1' },
      authMethods: [],
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
      },
    })
  })

  test('has reasoning, text and usage', async () => {
    const model = scriptedModel([
      [{ reasoning: 'Hm.' }, { text: 'Hello.' }, { usage: { inputTokens: 10, outputTokens: 5 } }],
    ])
    const { open, prompt, text, of } = editorOf(agent({ model, maxContextTokens: 1000 }))
    const id = await open()
    expect(await prompt(id, 'Hi.')).toEqual({ stopReason: 'end_turn' })
    expect([text('agent_thought_chunk'), text(), text('user_message_chunk')]).toEqual(['Hm.', 'Hello.', ''])
    const [thought, answer] = [of('agent_thought_chunk')[0], of('agent_message_chunk')[0]]
    expect(thought?.messageId).not.toBe(answer?.messageId)
    expect(of('usage_update').at(-1)).toMatchObject({ size: 1000, used: expect.any(Number) })
    expect(of('available_commands_update')).toHaveLength(1)
  })

  test('is a thread that other clients see', async () => {
    const { app, open, prompt } = editorOf(agent({ model: scriptedModel(['Hello.']) }))
    const id = await open()
    await prompt(id, 'Hi.')
    const { messages, title, metadata } = await app.thread(id).state()
    expect(messages).toHaveLength(2)
    expect({ title, metadata }).toEqual({ title: 'Hi.', metadata: { acp: { cwd: process.cwd() } } })
  })

  test('contains images, links and files', async () => {
    const model = scriptedModel(({ messages }) => JSON.stringify(messages.at(-1)?.content))
    const { open, prompt, text } = editorOf(agent({ model }))
    const id = await open()
    await prompt(id, [
      { type: 'text', text: 'Look' },
      { type: 'image', data: pixel, mimeType: 'image/png' },
      { type: 'resource_link', name: 'main.ts', uri: 'file:///project/main.ts' },
      { type: 'resource', resource: { uri: 'file:///project/a.md', text: '# A' } },
      {
        type: 'resource',
        resource: { uri: 'file:///project/b.pdf', blob: 'JVBERg==', mimeType: 'application/pdf' },
      },
    ])
    expect(JSON.parse(text())).toEqual([
      { type: 'text', text: 'Look' },
      { type: 'image', data: pixel, mediaType: 'image/png' },
      { type: 'text', text: '[@main.ts](file:///project/main.ts)' },
      {
        type: 'text',
        text: '[@a.md](file:///project/a.md)\n<context ref="file:///project/a.md">\n# A\n</context>',
      },
      { type: 'file', data: 'JVBERg==', mediaType: 'application/pdf', name: 'b.pdf' },
    ])
  })

  test('rejects what no model reads, before anything is sent', async () => {
    const { app, open, prompt } = editorOf(agent({ model: scriptedModel(['Hello.']) }))
    const id = await open()
    const audio = { type: 'audio' as const, data: 'AAAA', mimeType: 'audio/wav' }
    await expect(prompt(id, [audio])).rejects.toMatchObject({
      code: -32602,
      message: 'a prompt cannot contain audio: send text or images',
    })
    await expect(prompt(id, [])).rejects.toMatchObject({ code: -32602, message: 'the prompt is empty' })
    expect((await app.thread(id).info()).head).toBe(0)
  })

  test('says which folder is open, unless it is that of the process', async () => {
    const model = scriptedModel(
      ({ messages }) => `${messages.find(({ role }) => role === 'system')?.content}`,
    )
    const { initialize, prompt, text, agent: server } = editorOf(agent({ model }))
    await initialize()
    const { sessionId } = await server.request('session/new', { cwd: '/project', mcpServers: [] })
    await prompt(sessionId, 'Where?')
    expect(text()).toBe('The editor of the user has opened the folder /project.')
  })

  test('says why a run failed', async () => {
    const model = scriptedModel(() => [{ error: { message: 'the model is broken' } }])
    const { open, prompt } = editorOf(agent({ model, retry: { attempts: 1 } }))
    await expect(prompt(await open(), 'Hi.')).rejects.toMatchObject({
      code: -32603,
      message: 'the model is broken',
    })
  })

  test.each([
    ['max_tokens', { model: scriptedModel([[{ text: 'Long' }, { finish: 'length' }]]) }],
    ['refusal', { model: scriptedModel([[{ text: 'No.' }, { finish: 'refusal' }]]) }],
    ['max_turn_requests', { model: scriptedModel(() => [{ call: 'look' }]), maxRounds: 1 }],
    ['max_turn_requests', { model: scriptedModel(() => [{ call: 'look' }]), budget: { rounds: 1 } }],
  ] as const)('ends with %s', async (stopReason, options) => {
    const look = tool({ name: 'look', description: 'Looks', input: noInput, run: () => 'seen' })
    const { open, prompt } = editorOf(agent({ ...options, tools: [look] }))
    expect(await prompt(await open(), 'Hi.')).toEqual({ stopReason })
  })

  test('marks text that was retracted, since it cannot be taken back', async () => {
    const model = scriptedModel([
      [
        { text: 'Well' },
        { call: 'look', cut: true },
        { error: { code: 'stream_error', message: 'cut', retryable: true } },
      ],
      'Hello.',
    ])
    const look = tool({ name: 'look', description: 'Looks', input: noInput, run: () => 'seen' })
    const { open, prompt, text, calls } = editorOf(agent({ model, tools: [look], retry: { baseMs: 0 } }))
    expect(await prompt(await open(), 'Hi.')).toEqual({ stopReason: 'end_turn' })
    expect(text()).toBe('Well\n\n_[The answer was interrupted and starts over.]_\n\nHello.')
    expect(calls()).toMatchObject([{ name: 'look', status: 'failed' }])
  })

  test('shows notices to editors that have them', async () => {
    const model = scriptedModel([
      [{ error: { code: 'overloaded', message: 'busy', retryable: true } }],
      'Hello.',
    ])
    const capabilities = { session: { notices: {} } }
    const { open, prompt, of } = editorOf(agent({ model, retry: { baseMs: 0 } }), { capabilities })
    await prompt(await open(), 'Hi.')
    expect(of('notice')).toMatchObject([{ severity: 'warning', title: expect.stringContaining('Retrying') }])
  })
})

describe('tool calls', () => {
  test('show their kind, title, locations, diff and result', async () => {
    const { agent: editor } = editing('src/a.ts', permission({ otherwise: 'allow' }))
    const { open, prompt, calls } = editorOf(editor)
    await prompt(await open(), 'Edit.')
    expect(calls()).toMatchObject([
      {
        name: 'edit',
        title: 'Edit src/a.ts',
        kind: 'edit',
        status: 'completed',
        rawInput: {},
        locations: [{ path: '/project/src/a.ts', line: 3 }],
        content: [{ type: 'diff', path: '/project/src/a.ts', oldText: 'old', newText: 'new' }],
      },
    ])
  })

  test('show text as output, and images', async () => {
    const look = tool({
      name: 'look',
      description: 'Looks',
      input: noInput,
      run: () =>
        toolContent([
          { type: 'text', text: '# no ``` Markdown\n' },
          { type: 'image', data: pixel, mediaType: 'image/png' },
        ]),
    })
    const { open, prompt, calls } = editorOf(agent({ model: caller('look', { at: 'it' }), tools: [look] }))
    await prompt(await open(), 'Look.')
    const [call] = calls()
    expect(call).toMatchObject({ title: 'look {"at":"it"}', kind: 'other', rawInput: { at: 'it' } })
    expect(call?.content).toEqual([
      { type: 'content', content: { type: 'text', text: '````\n# no ``` Markdown\n````' } },
      { type: 'content', content: { type: 'image', data: pixel, mimeType: 'image/png' } },
    ])
  })

  test('show output while they run, and why they fail', async () => {
    const held = Promise.withResolvers<void>()
    const build = tool({
      name: 'build',
      description: 'Builds',
      input: noInput,
      async run(_, { progress }) {
        progress({ output: 'compiling\n' })
        await held.promise
        throw new Error('it does not compile')
      },
    })
    const { open, prompt, calls } = editorOf(agent({ model: caller('build'), tools: [build] }))
    const answer = prompt(await open(), 'Build.')
    const output = (text: string) => [
      { type: 'content', content: { type: 'text', text: `\`\`\`\n${text}\n\`\`\`` } },
    ]
    await expect.poll(() => calls()[0]).toMatchObject({ status: 'in_progress', content: output('compiling') })
    held.resolve()
    await answer
    expect(calls()).toMatchObject([
      { status: 'failed', content: [{ content: { text: expect.stringContaining('it does not compile') } }] },
    ])
  })

  test('report plans', async () => {
    const plan = tool({
      name: 'plan',
      description: 'Plans',
      input: noInput,
      run(_, { progress }) {
        progress({
          plan: [{ content: 'Find it' }, { content: 'Fix it', status: 'in_progress', priority: 'high' }, 7],
        })
        return 'planned'
      },
    })
    const { open, prompt, of } = editorOf(agent({ model: caller('plan'), tools: [plan] }))
    await prompt(await open(), 'Plan.')
    expect(of('plan')).toEqual([
      {
        sessionUpdate: 'plan',
        entries: [
          { content: 'Find it', status: 'pending', priority: 'medium' },
          { content: 'Fix it', status: 'in_progress', priority: 'high' },
        ],
      },
    ])
  })

  test('show what a sub-agent does, and ask about its calls', async () => {
    const cut = tool({ name: 'cut', description: 'Cuts', input: noInput, approve: true, run: () => 'cut' })
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'All is cut.' : [{ text: 'I **cut** it.' }, { call: 'cut' }],
    )
    const cutter = agent({ name: 'cutter', model, tools: [cut] }).asTool({ description: 'Cuts things' })
    const { open, prompt, asked, calls } = editorOf(
      agent({ model: caller('cutter', { prompt: 'x' }), tools: [cutter] }),
    )
    const answer = prompt(await open(), 'Cut it.')
    const { toolCall, choose } = await asked()
    expect(toolCall).toMatchObject({ title: 'cut', toolCallId: calls()[0]?.toolCallId })
    choose('allow')
    expect(await answer).toEqual({ stopReason: 'end_turn' })
    expect(calls()).toMatchObject([
      {
        name: 'cutter',
        status: 'completed',
        content: [{ content: { text: 'I **cut** it.\n\n- cut (ok)\n\nAll is cut.' } }],
      },
    ])
  })

  test('that a client must run fail, so that the answer does not wait forever', async () => {
    const locate = tool({ name: 'locate', description: 'Locates', input: noInput })
    const { open, prompt, text } = editorOf(agent({ model: caller('locate'), tools: [locate] }))
    expect(await prompt(await open(), 'Where?')).toEqual({ stopReason: 'end_turn' })
    expect(text()).toContain("The editor cannot run the tool 'locate'.")
  })
})

describe('permissions', () => {
  test('are asked with a diff, and can be remembered', async () => {
    const { agent: editor, ran } = editing('src/a.ts')
    const { open, prompt, asked, questions, app } = editorOf(editor)
    const id = await open()
    const answer = prompt(id, 'Edit.')
    const { toolCall, options, choose } = await asked()
    expect(toolCall).toMatchObject({
      title: 'Edit src/a.ts',
      kind: 'edit',
      status: 'pending',
      locations: [{ path: '/project/src/a.ts', line: 3 }],
      content: [
        { type: 'content', content: { text: 'Write `src/a.ts`?' } },
        { type: 'diff', path: '/project/src/a.ts', oldText: 'old', newText: 'new' },
      ],
    })
    expect(options).toEqual([
      { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
      { optionId: 'thread', name: 'Allow in this session: write(src/a.ts)', kind: 'allow_always' },
      { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
    ])
    expect(ran).toEqual([])
    choose('thread')
    expect(await answer).toEqual({ stopReason: 'end_turn' })
    await prompt(id, 'Again.')
    expect(ran).toHaveLength(2)
    expect(questions).toHaveLength(1)
    expect((await app.thread(id).state()).approvals).toEqual([])
  })

  test('that are denied reach the model', async () => {
    const { agent: editor, ran } = editing('src/a.ts')
    const { open, prompt, asked, text, calls } = editorOf(editor)
    const answer = prompt(await open(), 'Edit.')
    const { choose } = await asked()
    choose('deny')
    await answer
    expect(text()).toContain('the user denied')
    expect(calls()).toMatchObject([{ status: 'failed' }])
    expect(ran).toEqual([])
  })

  test('that another client decides are no longer asked', async () => {
    const { agent: editor, ran } = editing('src/a.ts')
    const { open, prompt, asked, app } = editorOf(editor)
    const id = await open()
    const answer = prompt(id, 'Edit.')
    const { signal } = await asked()
    const [request] = (await app.thread(id).state()).approvals
    await app.thread(id).approve(request?.callId as string, { approved: true })
    expect(await answer).toEqual({ stopReason: 'end_turn' })
    expect(signal.aborted).toBe(true)
    expect(ran).toHaveLength(1)
  })

  test('are asked again in a session that is loaded', async () => {
    const { agent: editor, ran } = editing('src/a.ts')
    const first = editorOf(editor)
    const id = await first.open()
    const answer = first.prompt(id, 'Edit.')
    answer.catch(() => {})
    await first.asked()
    await first.disconnect()
    const second = first.connect()
    await second.initialize()
    await second.load(id)
    const { choose } = await second.asked()
    choose('allow')
    await expect.poll(() => second.text()).toContain('Result')
    expect(ran).toHaveLength(1)
  })

  test('end with the prompt when it is canceled', async () => {
    const { agent: editor, ran } = editing('src/a.ts')
    const { open, prompt, asked, cancel, app } = editorOf(editor)
    const id = await open()
    const answer = prompt(id, 'Edit.')
    const { signal } = await asked()
    await cancel(id)
    expect(await answer).toEqual({ stopReason: 'cancelled' })
    expect(signal.aborted).toBe(true)
    expect(ran).toEqual([])
    expect((await app.thread(id).info()).status).toBe('idle')
  })

  test('that the user dismisses cancel the prompt', async () => {
    const { agent: editor } = editing('src/a.ts')
    const { open, prompt, asked } = editorOf(editor)
    const answer = prompt(await open(), 'Edit.')
    const { choose } = await asked()
    choose(undefined as never)
    expect(await answer).toEqual({ stopReason: 'cancelled' })
  })

  test('are denied when the editor cannot ask', async () => {
    const { agent: editor, ran } = editing('src/a.ts')
    const { open, prompt, asked, text } = editorOf(editor)
    const answer = prompt(await open(), 'Edit.')
    const { choose } = await asked()
    choose({ not: 'an option' } as never)
    await answer
    expect(text()).toContain('Not run')
    expect(ran).toEqual([])
  })
})

describe('modes', () => {
  const setMode = (one: ReturnType<typeof editorOf>, sessionId: string, modeId: string) =>
    one.agent.request('session/set_mode', { sessionId, modeId })

  test('accept-edits changes files of the workspace without asking', async () => {
    const { agent: editor, ran } = editing('src/a.ts')
    const one = editorOf(editor)
    const id = await one.open()
    await setMode(one, id, 'accept-edits')
    expect(await one.prompt(id, 'Edit.')).toEqual({ stopReason: 'end_turn' })
    expect(ran).toEqual(['src/a.ts'])
    expect(one.questions).toEqual([])
    expect(one.of('config_option_update').at(-1)?.configOptions).toMatchObject([
      { id: 'mode', currentValue: 'accept-edits' },
    ])
  })

  test.each([
    ['a file outside of the workspace', '/etc/passwd', permission()],
    ['a protected file', '.git/config', permission()],
    ['a file that a rule asks about', 'src/a.ts', permission({ ask: ['write(src/**)'] })],
  ])('accept-edits asks about %s', async (_, path, rules) => {
    const { agent: editor, ran } = editing(path, rules)
    const one = editorOf(editor)
    const id = await one.open()
    await setMode(one, id, 'accept-edits')
    const answer = one.prompt(id, 'Edit.')
    const { choose } = await one.asked()
    choose('deny')
    await answer
    expect(ran).toEqual([])
  })

  test('read-only changes nothing, also what a rule allows', async () => {
    const { agent: editor, ran } = editing('src/a.ts', permission({ allow: ['write(**)'] }))
    const one = editorOf(editor)
    const id = await one.open()
    await setMode(one, id, 'read-only')
    expect(await one.prompt(id, 'Edit.')).toEqual({ stopReason: 'end_turn' })
    expect(one.text()).toContain('read-only')
    expect(ran).toEqual([])
    await setMode(one, id, 'default')
    await one.prompt(id, 'Edit.')
    expect(ran).toEqual(['src/a.ts'])
  })

  test('hold for sub-agents, and for agents without rules', async () => {
    const ran: string[] = []
    const inner = agent({ name: 'inner', model: caller('edit'), tools: [editTool('a', ran)] })
    const outer = agent({
      model: caller('inner', { prompt: 'x' }),
      tools: [inner.asTool({ description: 'Edits' })],
    })
    const one = editorOf(outer)
    const id = await one.open()
    await setMode(one, id, 'read-only')
    await one.prompt(id, 'Edit.')
    expect(ran).toEqual([])
  })

  test('are kept by the session', async () => {
    const one = editorOf(agent({ model: scriptedModel(() => 'Hi.') }))
    const id = await one.open()
    await setMode(one, id, 'read-only')
    await one.disconnect()
    const other = one.connect()
    await other.initialize()
    expect(await other.resume(id)).toMatchObject({ modes: { currentModeId: 'read-only' } })
  })

  test('that do not exist are rejected', async () => {
    const one = editorOf(agent({ model: scriptedModel(() => 'Hi.') }))
    await expect(setMode(one, await one.open(), 'yolo')).rejects.toMatchObject({
      code: -32602,
      message: "there is no mode 'yolo'. The choices are: default, accept-edits, read-only",
    })
  })
})

describe('options', () => {
  const named = (id: string) => scriptedModel(() => `I am ${id}.`, { id })

  test('choose the model', async () => {
    const one = editorOf(agent({ model: named('small'), models: [named('large')] }))
    await one.initialize()
    const { sessionId, configOptions } = await one.agent.request('session/new', { cwd: '/', mcpServers: [] })
    expect(configOptions?.[1]).toMatchObject({ id: 'model', category: 'model', currentValue: 'small' })
    const set = (value: string) =>
      one.agent.request('session/set_config_option', { sessionId, configId: 'model', value })
    expect((await set('large')).configOptions[1]).toMatchObject({ currentValue: 'large' })
    await one.prompt(sessionId, 'Who?')
    expect(one.text()).toBe('I am large.')
    await expect(set('huge')).rejects.toMatchObject({ code: -32602 })
  })

  test('choose the agent, until something was said', async () => {
    const one = editorOf({ a: agent({ model: named('a') }), b: agent({ model: named('b') }) })
    const sessionId = await one.open()
    const set = (value: string) =>
      one.agent.request('session/set_config_option', { sessionId, configId: 'agent', value })
    expect((await set('b')).configOptions.at(-1)).toMatchObject({ id: 'agent', currentValue: 'b' })
    await one.prompt(sessionId, 'Who?')
    expect(one.text()).toBe('I am b.')
    await expect(set('a')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('keeps its agent'),
    })
  })
})

describe('sessions', () => {
  const parrot = () => agent({ model: scriptedModel(({ messages }) => `${messages.length}`) })

  test('are loaded with what was said, and resumed without', async () => {
    const one = editorOf(parrot())
    const id = await one.open()
    await one.prompt(id, 'One.')
    await one.prompt(id, 'Two.')
    await one.disconnect()
    const other = one.connect()
    await other.initialize()
    await other.load(id)
    expect([other.text('user_message_chunk'), other.text()]).toEqual(['One.Two.', '13'])
    await one.disconnect()
    const third = one.connect()
    await third.initialize()
    await third.resume(id)
    await third.prompt(id, 'Three.')
    expect([third.text('user_message_chunk'), third.text()]).toEqual(['', '5'])
  })

  test('are loaded as they are now, without what was retracted or replaced', async () => {
    const retried = [
      { text: 'Wrong' },
      { error: { code: 'stream_error', message: 'cut', retryable: true } },
    ] as const
    const look = tool({
      name: 'look',
      description: 'Looks',
      input: noInput,
      run(_, { progress }) {
        progress({ plan: [{ content: 'Look' }] })
        return 'seen'
      },
    })
    const model = scriptedModel([retried, [{ text: 'One. ' }, { call: 'look' }], 'Two.', 'Three.'])
    const one = editorOf(agent({ model, tools: [look], retry: { baseMs: 0 }, maxContextTokens: 1000 }))
    const id = await one.open()
    await one.prompt(id, 'First.')
    await one.prompt(id, 'Second.')
    const thread = one.app.thread(id)
    const seconds = (await thread.read()).filter(({ event }) => event.type === 'input')
    await thread.rewind(seconds[1]?.seq as number)
    expect(one.text()).toContain('Wrong\n\n_[The answer was interrupted and starts over.]_')
    await expect.poll(() => one.text()).toContain('_[The conversation continues from an earlier message.]_')
    await one.disconnect()
    const other = one.connect()
    await other.initialize()
    await other.load(id)
    expect([other.text('user_message_chunk'), other.text()]).toEqual(['First.', 'One. Two.'])
    expect(other.calls()).toMatchObject([{ name: 'look', status: 'completed' }])
    expect(other.of('plan')).toHaveLength(1)
    expect(other.of('usage_update')).toHaveLength(1)
  })

  test('are loaded completely while text is generated', async () => {
    const words = Array.from({ length: 400 }, (_, number) => `word ${number} `)
    const model = scriptedModel([words.flatMap((text) => [{ text }, { pause: 1 }])])
    const one = editorOf(agent({ model }), { flushMs: 0 })
    const id = await one.open()
    const thread = one.app.thread(id)
    await thread.send('Tell me.')
    do {
      one.updates.length = 0
      await one.load(id)
    } while ((await thread.info()).status !== 'idle')
    await expect.poll(() => one.text()).toBe(words.join(''))
  })

  test('that are deleted elsewhere end their prompts', async () => {
    const model = scriptedModel(() => [{ text: 'Hm.' }, { hang: true }])
    const one = editorOf(agent({ model }))
    const id = await one.open()
    const answer = one.prompt(id, 'One.')
    await expect.poll(() => one.text()).toBe('Hm.')
    await one.app.thread(id).delete()
    await expect(answer).rejects.toMatchObject({ code: -32002 })
    await expect(one.prompt(id, 'Two.')).rejects.toMatchObject({ code: -32002 })
  })

  test('of agents that are not served here are not listed, and cannot be opened', async () => {
    const store = memoryStore()
    const before = editorOf({ old: parrot() }, { store })
    const id = await before.open()
    await before.prompt(id, 'One.')
    const one = editorOf({ other: parrot() }, { store })
    await one.initialize()
    expect((await one.agent.request('session/list', {})).sessions).toEqual([])
    await expect(one.load(id)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("no agent named 'old'"),
    })
  })

  test('are listed by folder, without those in which nothing was said', async () => {
    const one = editorOf(parrot())
    const [id] = [await one.open(), await one.open()]
    await one.prompt(id, 'One.')
    const list = (cwd: string) => one.agent.request('session/list', { cwd })
    expect(await list(process.cwd())).toMatchObject({
      sessions: [{ sessionId: id, cwd: process.cwd(), title: 'One.', updatedAt: expect.any(String) }],
    })
    expect(await list('/elsewhere')).toEqual({ sessions: [] })
  })

  test('are listed in pages', async () => {
    const one = editorOf(parrot())
    await one.initialize()
    for (let count = 0; count < 60; count++)
      await one.app.thread().create({
        messages: [
          { role: 'user', content: `${count}` },
          { role: 'assistant', content: 'ok' },
        ],
      })
    const first = await one.agent.request('session/list', {})
    const second = await one.agent.request('session/list', { cursor: first.nextCursor ?? null })
    expect(new Set([...first.sessions, ...second.sessions].map(({ sessionId }) => sessionId)).size).toBe(60)
    expect(second.nextCursor).toBeUndefined()
  })

  test('are closed and deleted', async () => {
    const one = editorOf(parrot())
    const sessionId = await one.open()
    await one.agent.request('session/close', { sessionId })
    await expect(one.prompt(sessionId, 'Hi.')).rejects.toMatchObject({
      code: -32002,
      message: `the session '${sessionId}' is not open: load or resume it first`,
    })
    await one.load(sessionId)
    await one.prompt(sessionId, 'Hi.')
    await one.agent.request('session/delete', { sessionId })
    await expect(one.app.thread(sessionId).info()).rejects.toMatchObject({ code: 'not_found' })
  })

  test('show what other clients say', async () => {
    const one = editorOf(parrot())
    const id = await one.open()
    await one.app.thread(id).send('From the page.')
    await expect.poll(() => one.text()).toBe('1')
    expect(one.text('user_message_chunk')).toBe('From the page.')
  })

  test('steer the run with a prompt that is sent meanwhile', async () => {
    const held = Promise.withResolvers<void>()
    const look = tool({
      name: 'look',
      description: 'Looks',
      input: noInput,
      run: () => held.promise.then(() => 'seen'),
    })
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? [{ call: 'look' }] : `read ${JSON.stringify(messages.at(-1)?.content)}`,
    )
    const one = editorOf(agent({ model, tools: [look] }))
    const id = await one.open()
    const first = one.prompt(id, 'Look.')
    await expect.poll(() => one.calls()[0]?.status).toBe('in_progress')
    const second = one.prompt(id, 'Left!')
    await expect.poll(async () => (await one.app.thread(id).state()).queued).toHaveLength(1)
    held.resolve()
    expect(await Promise.all([first, second])).toEqual([
      { stopReason: 'end_turn' },
      { stopReason: 'end_turn' },
    ])
    expect(one.text()).toContain('Left!')
  })

  test('interrupt a run that waits for approval with another prompt', async () => {
    const { agent: editor, ran } = editing('src/a.ts')
    const one = editorOf(editor)
    const id = await one.open()
    const first = one.prompt(id, 'Edit.')
    const { signal } = await one.asked()
    await expect.poll(async () => (await one.app.thread(id).info()).status).toBe('waiting')
    const second = one.prompt(id, 'Not that one.')
    expect(await first).toEqual({ stopReason: 'cancelled' })
    expect(signal.aborted).toBe(true)
    const { choose } = await one.asked(2)
    choose('allow')
    expect(await second).toEqual({ stopReason: 'end_turn' })
    expect(ran).toHaveLength(1)
  })

  test('end all their prompts when they are canceled', async () => {
    const model = scriptedModel(() => [{ text: 'Hm.' }, { hang: true }])
    const one = editorOf(agent({ model }))
    const id = await one.open()
    const answers = [one.prompt(id, 'One.')]
    await expect.poll(() => one.text()).toBe('Hm.')
    answers.push(one.prompt(id, 'Two.'))
    await expect.poll(async () => (await one.app.thread(id).state()).queued).toHaveLength(1)
    await one.cancel(id)
    const canceled = { stopReason: 'cancelled' }
    expect(await Promise.all(answers)).toEqual([canceled, canceled])
  })

  test('have commands', async () => {
    const one = editorOf(parrot())
    const id = await one.open()
    await one.prompt(id, 'One.')
    await one.prompt(id, '/title Something else')
    await expect.poll(() => one.of('session_info_update').at(-1)).toMatchObject({ title: 'Something else' })
    await one.prompt(id, '/usage')
    expect(one.text()).toMatch(/^1Renamed to: Something else.*tokens in, .* out/)
    expect((await one.app.thread(id).state()).messages).toHaveLength(2)
  })

  test.each(['session/load', 'session/resume'] as const)(
    '%s rejects a thread that does not exist',
    async (method) => {
      const one = editorOf(parrot())
      await one.initialize()
      await expect(
        one.agent.request(method, { sessionId: 'missing', cwd: '/', mcpServers: [] }),
      ).rejects.toMatchObject({ code: -32002, message: expect.stringContaining('missing') })
    },
  )
})
