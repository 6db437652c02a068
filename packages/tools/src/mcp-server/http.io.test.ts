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
  teller,
  until,
} from '../../../millrace/src/protocols/protocols.test-kit.ts'
import { byToken } from '../../../millrace/src/server/server.test-kit.ts'
import { mcpProtocol } from './endpoint.ts'
import { clients, textOf } from './mcp-clients.test-kit.ts'
import { clerk, eventsOf, serving } from './serving.test-kit.ts'

describe.each(clients)('%s over HTTP', (_, connect) => {
  test('finds a tool for each agent, described as told', async () => {
    const agents = { 'night desk': teller(), 'night.desk': teller(), teller: teller() }
    const { url } = await serving(agents, {
      protocols: [mcpProtocol({ describe: { teller: 'Tells a story' }, name: 'mill' })],
    })
    const client = await connect(url)
    const tools = await client.tools()
    expect(tools.map(({ name }) => name)).toEqual(['night_desk', 'night_desk_2', 'teller'])
    expect(tools[2]).toMatchObject({
      title: 'teller',
      description: 'Tells a story',
      inputSchema: { type: 'object', properties: { prompt: { type: 'string' }, thread: { type: 'string' } } },
      outputSchema: { required: ['thread', 'outcome', 'text', 'usage'] },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    })
    expect(tools[0]?.description).toMatch(/^Asks the agent 'night desk'/)
  })

  test('gets the answer, and goes on with the thread that it names', async () => {
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
    const told: string[] = []
    const again = await client.call('clerk', { thread }, { onProgress: (message) => told.push(message) })
    expect(told).toEqual([`the agent 'clerk' is asked, in thread '${thread}'`])
    expect(again.structuredContent).toMatchObject({ thread, text: 'Answer 2: it is shipped.' })
    expect((await app.threads()).threads).toMatchObject([{ id: thread, agent: 'clerk' }])
  })

  test('is told how far it is before the answer comes', async () => {
    const { url } = await serving(clerk())
    const client = await connect(url)
    const told: string[] = []
    const counts: number[] = []
    const onProgress = (message: string, progress: number) => {
      told.push(message)
      counts.push(progress)
    }
    await client.call('clerk', { prompt: 'Where is ORD-42?' }, { onProgress })
    expect(told).toEqual([
      expect.stringMatching(/^the agent 'clerk' is asked, in thread 'thread_/),
      'Let me look. ',
      'look_up runs',
      'look_up is done',
      'Answer 1: it is shipped.',
    ])
    expect(counts).toEqual([1, 2, 3, 4, 5])
  })

  test('cancels: the run is stopped, and the log says so', async () => {
    const { app, url } = await serving(muser())
    const client = await connect(url)
    const cancel = new AbortController()
    const told: string[] = []
    const call = client.call(
      'muser',
      { prompt: 'Think.' },
      { signal: cancel.signal, onProgress: (message) => told.push(message) },
    )
    const refused = expect(call).rejects.toThrow()
    await until(() => told.includes('Hm.'))
    const [info] = (await app.threads()).threads
    cancel.abort('enough')
    await refused
    await until(async () => (await eventsOf(app, info?.id)).at(-1)?.type === 'run-end')
    const events = await eventsOf(app, info?.id)
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
    // Without sessions to cancel is to hang up, which gives no reasons.
    const reason = client.version === '2026-07-28' ? 'cancelled by the MCP client' : 'enough'
    expect(events.find(({ type }) => type === 'stop')).toMatchObject({ reason })
  })

  test('cancels what waits behind a run of somebody else, which goes on', async () => {
    const { app, url, followers } = await serving(muser())
    const thread = app.thread('shared')
    await thread.send('Think.')
    await until(async () => (await thread.info()).status === 'running')
    const client = await connect(url)
    const cancel = new AbortController()
    const call = client.call('muser', { prompt: 'Me too.', thread: 'shared' }, { signal: cancel.signal })
    const refused = expect(call).rejects.toThrow()
    await until(async () => (await thread.state()).queued.length === 1)
    cancel.abort()
    await refused
    await until(() => followers() === 0)
    expect((await eventsOf(app, 'shared')).filter(({ type }) => type === 'stop')).toEqual([])
    expect((await thread.info()).status).toBe('running')
  })

  test('has calls that stand on their own, whoever makes them', async () => {
    const { app, url } = await serving({ clerk: clerk(), muser: muser(), teller: teller() })
    const [one, two] = [await connect(url), await connect(url)]
    const cancel = new AbortController()
    const hanging = one.call('muser', { prompt: 'Think.' }, { signal: cancel.signal })
    const refused = expect(hanging).rejects.toThrow()
    const answers = await Promise.all([
      one.call('teller', { prompt: 'Tell.' }),
      two.call('teller', { prompt: 'Tell.' }),
      two.call('clerk', { prompt: 'Where?' }),
    ])
    expect(answers.map(textOf)).toEqual([story, story, 'Answer 1: it is shipped.'])
    expect(new Set(answers.map(({ structuredContent }) => structuredContent?.thread)).size).toBe(3)
    cancel.abort()
    await refused
    await until(async () => (await app.threads({ status: 'idle' })).threads.length === 4)
  })

  test.each([
    [{ prompt: 'Hi', thread: 'nowhere' }, /there is no thread 'nowhere' here: leave thread out/],
    [{ prompt: 'Hi', thread: '../etc' }, /there is no thread '..\/etc' here/],
    [{}, /a new conversation needs a prompt/],
  ])('is told what to do better about %j', async (input, sentence) => {
    const { app, url } = await serving(teller())
    const result = await (await connect(url)).call('teller', input)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(sentence)
    expect((await app.threads()).threads).toEqual([])
  })

  test("cannot go on with another agent's thread", async () => {
    const { app, url } = await serving({ teller: teller(), clerk: clerk() })
    await app.thread('t1', { agent: 'clerk' }).create()
    const result = await (await connect(url)).call('teller', { prompt: 'Hi', thread: 't1' })
    expect(result).toMatchObject({ isError: true })
    expect(textOf(result)).toMatch(
      "the thread 't1' is one of the agent 'clerk': go on with it by that agent's tool",
    )
  })

  test('is told of a failure in a sentence, with what there is of an answer', async () => {
    const model = scriptedModel(() => [
      { text: 'It is ' },
      { error: { code: 'auth', message: 'key sk-1 refused' } },
    ])
    const { url } = await serving(agent({ name: 'broken', model }))
    const result = await (await connect(url)).call('broken', { prompt: 'Hi' })
    expect(result).toMatchObject({ isError: true, structuredContent: { outcome: 'failed', text: 'It is ' } })
    expect(textOf(result)).toBe("The agent 'broken' failed: key sk-1 refused. It got as far as: It is ")
  })

  test('is told when somebody else stops it', async () => {
    const { app, url } = await serving(muser())
    const told: string[] = []
    const client = await connect(url)
    const call = client.call('muser', { prompt: 'Think.' }, { onProgress: (message) => told.push(message) })
    await until(() => told.includes('Hm.'))
    await app.thread((await app.threads()).threads[0]?.id).stop('lunch')
    const result = await call
    expect(result).toMatchObject({ isError: true, structuredContent: { outcome: 'cancelled' } })
    expect(textOf(result)).toBe(
      "The agent 'muser' was stopped before it had an answer: lunch. It got as far as: Hm.",
    )
  })

  test('asks its user about a call that waits, and goes on as they decide', async () => {
    for (const [action, status] of [
      ['accept', 'ok'],
      ['decline', 'declined'],
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
        `The agent 'asker' wants to run cut_rope {"where":"here"}. Accept to allow it.`,
      ])
      const events = await eventsOf(app, result.structuredContent?.thread)
      expect(events.find(({ type }) => type === 'tool-result')).toMatchObject({ status })
    }
  })

  test('asks about what a sub-agent wants to run', async () => {
    const { url } = await serving(delegator())
    const result = await (await connect(url, { user: () => 'accept' })).call('delegator', {
      prompt: 'Cut it.',
    })
    expect(result.structuredContent).toMatchObject({ outcome: 'completed', text: 'It was done.' })
  })

  test.each([
    ['whose user dismisses the question', { user: () => 'cancel' as const }],
    ['that has no user to ask', {}],
  ])('%s hears that a person has to decide, and gets the answer when they did', async (_, options) => {
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

  test('needs to say who it is, and reaches nothing of others', async () => {
    const { app, url } = await serving(teller(), { auth: byToken })
    await expect(connect(url)).rejects.toThrow()
    const [ada, bob] = [await connect(url, { token: 'ada' }), await connect(url, { token: 'bob' })]
    const { thread } = (await ada.call('teller', { prompt: 'Tell.' })).structuredContent ?? {}
    expect((await app.threads({ user: 'ada' })).threads).toMatchObject([{ id: thread, user: 'ada' }])
    const stolen = await bob.call('teller', { prompt: 'And then?', thread })
    expect(stolen.isError).toBe(true)
    expect(textOf(stolen)).toMatch(`there is no thread '${thread}' here`)
    expect((await ada.call('teller', { prompt: 'And then?', thread })).structuredContent).toMatchObject({
      thread,
    })
  })

  test('goes on with a thread after the server was started anew', async () => {
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

  test('is told that the server goes away, while the run is left to the next one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-mcp-'))
    const store = sqliteStore(join(folder, 'threads.db'))
    onTestFinished(async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    })
    const { app, url } = await serving(muser(), {}, { store })
    const client = await connect(url)
    const told: string[] = []
    const call = client.call('muser', { prompt: 'Think.' }, { onProgress: (message) => told.push(message) })
    await until(() => told.includes('Hm.'))
    await app.close({ graceMs: 0 })
    const result = await call
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/^The server is going away .* thread 'thread_\S+' and without a prompt/)
    const { threads } = await store.list({ limit: 10 })
    const entries = await store.read(String(threads[0]?.id), { after: 0, limit: 100 })
    expect(entries.map(({ event }) => event.type)).not.toContain('stop')
  })
})
