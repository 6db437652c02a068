import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent } from 'millrace'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  asker,
  delegator,
  muser,
  story,
  storyteller,
  until,
} from '../../../millrace/src/protocols/protocols.test-kit.ts'
import { byToken } from '../../../millrace/src/server/server.test-kit.ts'
import { mcpProtocol } from './endpoint.ts'
import { clients, textOf } from './mcp-clients.test-kit.ts'
import { clerk, eventsOf, serving } from './serving.test-kit.ts'

describe.each(clients)('%s over HTTP', (_, connect) => {
  test('finds a tool for each agent, with its description', async () => {
    const agents = { 'night desk': storyteller(), 'night.desk': storyteller(), storyteller: storyteller() }
    const { url } = await serving(agents, {
      protocols: [mcpProtocol({ describe: { storyteller: 'Tells a story' }, name: 'mill' })],
    })
    const client = await connect(url)
    const tools = await client.tools()
    expect(tools.map(({ name }) => name)).toEqual(['night_desk', 'night_desk_2', 'storyteller'])
    expect(tools[2]).toMatchObject({
      title: 'storyteller',
      description: 'Tells a story',
      inputSchema: { type: 'object', properties: { prompt: { type: 'string' }, thread: { type: 'string' } } },
      outputSchema: { required: ['thread', 'outcome', 'text', 'usage'] },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    })
    expect(tools[0]?.description).toMatch(/^Ask the agent 'night desk'/)
  })

  test('gets the answer, and continues the thread', async () => {
    const { app, url } = await serving(clerk())
    const client = await connect(url)
    const first = await client.call('clerk', { prompt: 'Where is ORD-42?' })
    expect(first.isError ?? false).toBe(false)
    expect(textOf(first)).toBe('Answer 1: it is shipped.')
    const { thread, outcome, text, usage } = first.structuredContent ?? {}
    expect({ outcome, text }).toEqual({ outcome: 'completed', text: 'Answer 1: it is shipped.' })
    expect(usage).toMatchObject({ inputTokens: expect.any(Number) })
    const second = await client.call('clerk', { prompt: 'And now?', thread })
    expect(second.structuredContent).toMatchObject({ thread, text: 'Answer 2: it is shipped.' })
    const messages: string[] = []
    const again = await client.call('clerk', { thread }, { onProgress: (message) => messages.push(message) })
    expect(messages).toEqual([`asking the agent 'clerk' in thread '${thread}'`])
    expect(again.structuredContent).toMatchObject({ thread, text: 'Answer 2: it is shipped.' })
    expect((await app.threads()).threads).toMatchObject([{ id: thread, agent: 'clerk' }])
  })

  test('gets progress before the answer', async () => {
    const { url } = await serving(clerk())
    const client = await connect(url)
    const messages: string[] = []
    const counts: number[] = []
    const onProgress = (message: string, progress: number) => {
      messages.push(message)
      counts.push(progress)
    }
    await client.call('clerk', { prompt: 'Where is ORD-42?' }, { onProgress })
    expect(messages).toEqual([
      expect.stringMatching(/^asking the agent 'clerk' in thread 'thread_/),
      'Let me look. ',
      'running look_up',
      'look_up finished',
      'Answer 1: it is shipped.',
    ])
    expect(counts).toEqual([1, 2, 3, 4, 5])
  })

  test('cancels: the run is stopped, with the reason in the log', async () => {
    const { app, url } = await serving(muser())
    const client = await connect(url)
    const cancel = new AbortController()
    const messages: string[] = []
    const call = client.call(
      'muser',
      { prompt: 'Think.' },
      { signal: cancel.signal, onProgress: (message) => messages.push(message) },
    )
    const rejection = expect(call).rejects.toThrow()
    await until(() => messages.includes('Hm.'))
    const [info] = (await app.threads()).threads
    cancel.abort('enough')
    await rejection
    await until(async () => (await eventsOf(app, info?.id)).at(-1)?.type === 'run-end')
    const events = await eventsOf(app, info?.id)
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'canceled' })
    // Without sessions, canceling means disconnecting, which has no reason.
    const reason = client.version === '2026-07-28' ? 'canceled by the MCP client' : 'enough'
    expect(events.find(({ type }) => type === 'stop')).toMatchObject({ reason })
  })

  test('cancels a message queued behind another run, which continues', async () => {
    const { app, url, followers } = await serving(muser())
    const thread = app.thread('shared')
    await thread.send('Think.')
    await until(async () => (await thread.info()).status === 'running')
    const client = await connect(url)
    const cancel = new AbortController()
    const call = client.call('muser', { prompt: 'Me too.', thread: 'shared' }, { signal: cancel.signal })
    const rejection = expect(call).rejects.toThrow()
    await until(async () => (await thread.state()).queued.length === 1)
    cancel.abort()
    await rejection
    await until(() => followers() === 0)
    expect((await eventsOf(app, 'shared')).filter(({ type }) => type === 'stop')).toEqual([])
    expect((await thread.info()).status).toBe('running')
  })

  test('has independent calls', async () => {
    const { app, url } = await serving({ clerk: clerk(), muser: muser(), storyteller: storyteller() })
    const [one, two] = [await connect(url), await connect(url)]
    const cancel = new AbortController()
    const hanging = one.call('muser', { prompt: 'Think.' }, { signal: cancel.signal })
    const rejection = expect(hanging).rejects.toThrow()
    const answers = await Promise.all([
      one.call('storyteller', { prompt: 'Tell.' }),
      two.call('storyteller', { prompt: 'Tell.' }),
      two.call('clerk', { prompt: 'Where?' }),
    ])
    expect(answers.map(textOf)).toEqual([story, story, 'Answer 1: it is shipped.'])
    expect(new Set(answers.map(({ structuredContent }) => structuredContent?.thread)).size).toBe(3)
    cancel.abort()
    await rejection
    await until(async () => (await app.threads({ status: 'idle' })).threads.length === 4)
  })

  test.each([
    [{ prompt: 'Hi', thread: 'nowhere' }, /there is no thread 'nowhere': omit thread/],
    [{ prompt: 'Hi', thread: '../etc' }, /there is no thread '..\/etc'/],
    [{}, /a new conversation needs a prompt/],
  ])('gets advice about %j', async (input, sentence) => {
    const { app, url } = await serving(storyteller())
    const result = await (await connect(url)).call('storyteller', input)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(sentence)
    expect((await app.threads()).threads).toEqual([])
  })

  test("cannot continue another agent's thread", async () => {
    const { app, url } = await serving({ storyteller: storyteller(), clerk: clerk() })
    await app.thread('t1', { agent: 'clerk' }).create()
    const result = await (await connect(url)).call('storyteller', { prompt: 'Hi', thread: 't1' })
    expect(result).toMatchObject({ isError: true })
    expect(textOf(result)).toMatch(
      "the thread 't1' belongs to the agent 'clerk': continue it with that agent's tool",
    )
  })

  test('gets the error of a failed run, with the partial answer', async () => {
    const model = scriptedModel(() => [
      { text: 'It is ' },
      { error: { code: 'auth', message: 'key sk-1 refused' } },
    ])
    const { url } = await serving(agent({ name: 'broken', model }))
    const result = await (await connect(url)).call('broken', { prompt: 'Hi' })
    expect(result).toMatchObject({ isError: true, structuredContent: { outcome: 'failed', text: 'It is ' } })
    expect(textOf(result)).toBe("The agent 'broken' failed: key sk-1 refused. The answer so far: It is ")
  })

  test('is notified when another client stops the run', async () => {
    const { app, url } = await serving(muser())
    const messages: string[] = []
    const client = await connect(url)
    const call = client.call(
      'muser',
      { prompt: 'Think.' },
      { onProgress: (message) => messages.push(message) },
    )
    await until(() => messages.includes('Hm.'))
    await app.thread((await app.threads()).threads[0]?.id).stop('lunch')
    const result = await call
    expect(result).toMatchObject({ isError: true, structuredContent: { outcome: 'canceled' } })
    expect(textOf(result)).toBe(
      "The agent 'muser' was stopped before it had an answer: lunch. The answer so far: Hm.",
    )
  })

  test('asks its user about a pending call, and continues with the decision', async () => {
    for (const [action, status] of [
      ['accept', 'ok'],
      ['decline', 'denied'],
    ] as const) {
      const { app, url } = await serving(asker())
      const questions: string[] = []
      const client = await connect(url, {
        user(question) {
          questions.push(question)
          return action
        },
      })
      const result = await client.call('asker', { prompt: 'Cut it.' })
      expect(result.structuredContent).toMatchObject({ outcome: 'completed', text: 'It is cut.' })
      expect(questions).toEqual([
        `The agent 'asker' wants to run cut_rope {"where":"here"}. Accept to approve.`,
      ])
      const events = await eventsOf(app, result.structuredContent?.thread)
      expect(events.find(({ type }) => type === 'tool-result')).toMatchObject({ status })
    }
  })

  test('asks its user about a budget, and says which limit ended the run', async () => {
    for (const [action, outcome, text] of [
      ['accept', 'completed', 'Found it.'],
      [
        'decline',
        'budget',
        "The agent 'spender' stopped before it had an answer. The budget of 1 round for this run is spent. The answer so far: Hm.",
      ],
    ] as const) {
      const model = scriptedModel([[{ text: 'Hm.' }, { call: 'look' }], 'Found it.'])
      const { url } = await serving(agent({ name: 'spender', model, budget: { rounds: 1, onLimit: 'ask' } }))
      const questions: string[] = []
      const client = await connect(url, {
        user(question) {
          questions.push(question)
          return action
        },
      })
      const result = await client.call('spender', { prompt: 'Look.' })
      expect(result.structuredContent).toMatchObject({ outcome })
      expect(textOf(result)).toBe(text)
      expect(questions).toEqual([
        "The agent 'spender' asks: The budget of 1 round for this run is spent (1 round). Allow another 1 round? Accept to approve.",
      ])
    }
  })

  test('asks about calls of a sub-agent', async () => {
    const { url } = await serving(delegator())
    const result = await (await connect(url, { user: () => 'accept' })).call('delegator', {
      prompt: 'Cut it.',
    })
    expect(result.structuredContent).toMatchObject({ outcome: 'completed', text: 'It was done.' })
  })

  test.each([
    ['whose user dismisses the question', { user: () => 'cancel' as const }],
    ['without a user', {}],
  ])('%s learns that approval is needed, and gets the answer afterwards', async (_, options) => {
    const { app, url } = await serving(asker())
    const client = await connect(url, options)
    const result = await client.call('asker', { prompt: 'Cut it.' })
    expect(result.isError ?? false).toBe(false)
    const { thread, outcome } = result.structuredContent ?? {}
    expect(outcome).toBe('suspended')
    expect(textOf(result)).toContain('- cut_rope {"where":"here"}')
    expect(textOf(result)).toContain(`call this tool again with thread '${thread}' and without a prompt`)
    const meanwhile = await client.call('asker', { prompt: 'Hurry.', thread })
    expect(meanwhile.structuredContent).toMatchObject({ outcome: 'suspended' })
    expect((await eventsOf(app, thread)).filter(({ type }) => type === 'input')).toHaveLength(1)
    await app.thread(String(thread)).approve('call_1', { approved: true })
    expect((await client.call('asker', { thread })).structuredContent).toMatchObject({ text: 'It is cut.' })
  })

  test('must sign in, and cannot see threads of other users', async () => {
    const { app, url } = await serving(storyteller(), { auth: byToken })
    await expect(connect(url)).rejects.toThrow()
    const [ada, bob] = [await connect(url, { token: 'ada' }), await connect(url, { token: 'bob' })]
    const { thread } = (await ada.call('storyteller', { prompt: 'Tell.' })).structuredContent ?? {}
    expect((await app.threads({ user: 'ada' })).threads).toMatchObject([{ id: thread, user: 'ada' }])
    const stolen = await bob.call('storyteller', { prompt: 'And then?', thread })
    expect(stolen.isError).toBe(true)
    expect(textOf(stolen)).toMatch(`there is no thread '${thread}'`)
    expect((await ada.call('storyteller', { prompt: 'And then?', thread })).structuredContent).toMatchObject({
      thread,
    })
  })

  test('continues a thread after a server restart', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-mcp-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const asked = async (input: object) => {
      const store = sqliteStore(join(folder, 'threads.db'))
      const { app, url } = await serving(clerk(), {}, { store })
      const client = await connect(url)
      const { structuredContent } = await client.call('clerk', { prompt: 'Where?', ...input })
      await client.close()
      await app.close()
      await store.close()
      return structuredContent
    }
    const { thread } = (await asked({})) ?? {}
    expect(await asked({ thread })).toMatchObject({ thread, text: 'Answer 2: it is shipped.' })
  })

  test('learns that the server shuts down, while the run is left to the next one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-mcp-'))
    const store = sqliteStore(join(folder, 'threads.db'))
    onTestFinished(async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    })
    const { app, url } = await serving(muser(), {}, { store })
    const client = await connect(url)
    const messages: string[] = []
    const call = client.call(
      'muser',
      { prompt: 'Think.' },
      { onProgress: (message) => messages.push(message) },
    )
    await until(() => messages.includes('Hm.'))
    await app.close({ graceMs: 0 })
    const result = await call
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/^The server is shutting down .* thread 'thread_\S+' and without a prompt/)
    const { threads } = await store.list({ limit: 10 })
    const entries = await store.read(String(threads[0]?.id), { after: 0, limit: 100 })
    expect(entries.map(({ event }) => event.type)).not.toContain('stop')
  })
})
