import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { agent, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { asker, muser, storyteller, until } from '../../../millrace/src/protocols/protocols.test-kit.ts'
import { byToken } from '../../../millrace/src/server/server.test-kit.ts'
import { clerk, eventsOf, serving } from './serving.test-kit.ts'

// Tasks as the official client of 2025-11-25 uses them. Those of 2026-07-28 are tested with our client
// and the conformance suite.

async function connect(
  url: string,
  { token, user }: { token?: string; user?: () => 'accept' | 'cancel' } = {},
) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: user ? { elicitation: {} } : {} })
  if (user)
    client.setRequestHandler(ElicitRequestSchema, () => {
      const action = user()
      return action === 'accept' ? { action, content: {} } : { action }
    })
  const requestInit = { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  onTestFinished(() => client.close())
  const { tasks } = client.experimental
  return {
    tasks,
    async start(name: string, input: object) {
      const params = { name, arguments: { ...input }, task: { ttl: 60_000 } }
      return (await client.request({ method: 'tools/call', params }, CreateTaskResultSchema)).task
    },
    result: (taskId: string) => tasks.getTaskResult(taskId, CallToolResultSchema),
  }
}

test('a call is a task that works, has a result and is listed', async () => {
  const { url } = await serving(clerk())
  const { start, result, tasks } = await connect(url)
  const task = await start('clerk', { prompt: 'Where is ORD-42?' })
  expect(task).toMatchObject({
    taskId: expect.stringMatching(/^thread_.*\.1$/),
    status: 'working',
    ttl: null,
  })
  expect(await result(task.taskId)).toMatchObject({
    structuredContent: { outcome: 'completed', text: 'Answer 1: it is shipped.' },
    _meta: { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } },
  })
  const done = await tasks.getTask(task.taskId)
  expect(done).toMatchObject({ taskId: task.taskId, status: 'completed', createdAt: task.createdAt })
  expect((await tasks.listTasks()).tasks).toEqual([expect.objectContaining({ taskId: task.taskId })])
  // The result can be read again, and the thread continues with another task.
  expect((await result(task.taskId)).structuredContent).toMatchObject({ text: 'Answer 1: it is shipped.' })
  const [thread = ''] = task.taskId.split('.')
  const next = await start('clerk', { prompt: 'And now?', thread })
  expect((await result(next.taskId)).structuredContent).toMatchObject({
    thread,
    text: 'Answer 2: it is shipped.',
  })
  expect((await result(task.taskId)).structuredContent).toMatchObject({ text: 'Answer 1: it is shipped.' })
})

test('a task is canceled once, and others continue', async () => {
  const { app, url } = await serving({ muser: muser(), storyteller: storyteller() })
  const { start, result, tasks } = await connect(url)
  const [one, two] = [await start('muser', { prompt: 'Think.' }), await start('muser', { prompt: 'Think.' })]
  await until(async () => (await app.threads({ status: 'running' })).threads.length === 2)
  await tasks.cancelTask(one.taskId)
  expect((await result(one.taskId)).structuredContent).toMatchObject({ outcome: 'canceled' })
  expect((await tasks.getTask(one.taskId)).status).toBe('cancelled')
  await expect(tasks.cancelTask(one.taskId)).rejects.toThrow(/-32602.*cannot be canceled: it is /)
  expect((await tasks.getTask(two.taskId)).status).toBe('working')
  await tasks.cancelTask(two.taskId)
})

test('of two tasks in a thread, the one that waits is canceled alone', async () => {
  const { app, url } = await serving(muser())
  const { start, result, tasks } = await connect(url)
  const one = await start('muser', { prompt: 'Think.' })
  const [thread = ''] = one.taskId.split('.')
  await until(async () => (await app.thread(thread).info()).status === 'running')
  const [two, three] = [
    await start('muser', { prompt: 'And this.', thread }),
    await start('muser', { prompt: 'And that.', thread }),
  ]
  await expect(tasks.cancelTask(two.taskId)).rejects.toThrow(/others of its thread wait behind it/)
  const waiting = result(three.taskId)
  expect((await tasks.cancelTask(three.taskId)).status).toBe('cancelled')
  expect((await waiting).structuredContent).toMatchObject({ outcome: 'canceled' })
  expect((await tasks.cancelTask(two.taskId)).status).toBe('cancelled')
  expect((await tasks.getTask(one.taskId)).status).toBe('working')
  await tasks.cancelTask(one.taskId)
  await until(async () => (await tasks.getTask(one.taskId)).status === 'cancelled')
})

test('a call that cannot start is an error', async () => {
  const { url } = await serving(muser())
  const { start } = await connect(url)
  await expect(start('muser', { prompt: 'Think.', thread: 'nowhere' })).rejects.toThrow(
    /-32602.*there is no thread 'nowhere'/,
  )
})

test('a task asks the user of the client that waits for it, once', async () => {
  const { app, url } = await serving(asker())
  let questions = 0
  const { start, result, tasks } = await connect(url, {
    user() {
      questions++
      return 'cancel'
    },
  })
  const { taskId } = await start('asker', { prompt: 'Cut it.' })
  const waiting = result(taskId)
  await until(() => questions === 1)
  expect(await tasks.getTask(taskId)).toMatchObject({
    status: 'input_required',
    statusMessage: expect.stringContaining('A person has to approve: cut_rope'),
  })
  // The user dismissed the question, and another person decides.
  const [thread = ''] = taskId.split('.')
  await app.thread(thread).approve('call_1', { approved: true })
  expect((await waiting).structuredContent).toMatchObject({ outcome: 'completed', text: 'It is cut.' })
  expect(questions).toBe(1)
  expect((await eventsOf(app, thread)).filter(({ type }) => type === 'approval')).toHaveLength(1)
})

test('a task wants input until each of its questions is answered', async () => {
  const paying = Promise.withResolvers<string>()
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ whom: z.string() }),
    approve: true,
    run: () => paying.promise,
  })
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Both are paid.'
      : ['Ada', 'Bob'].map((whom) => ({ call: 'pay', input: { whom }, id: whom })),
  )
  const { app, url } = await serving(agent({ name: 'payer', model, tools: [pay] }))
  const { start, tasks } = await connect(url)
  const { taskId } = await start('payer', { prompt: 'Pay.' })
  const stateOf = async () => {
    const { status, statusMessage = '' } = await tasks.getTask(taskId)
    return [status, /Ada/.test(statusMessage), /Bob/.test(statusMessage)]
  }
  await until(async () => (await stateOf())[2] === true)
  const thread = app.thread(taskId.split('.')[0] ?? '')
  await thread.approve('Ada', { approved: true })
  await until(async () => (await thread.info()).status === 'running')
  expect(await stateOf()).toEqual(['input_required', false, true])
  await thread.approve('Bob', { approved: true })
  expect((await stateOf())[0]).toBe('working')
  paying.resolve('paid')
  await until(async () => (await stateOf())[0] === 'completed')
})

test('a message behind a call that waits for a person becomes a task that asks for it', async () => {
  const { app, url } = await serving(asker())
  const { start, result } = await connect(url, { user: () => 'accept' })
  const thread = app.thread('t1', { agent: 'asker' })
  await thread.send('Cut it.')
  await until(async () => (await thread.info()).status === 'waiting')
  const { taskId } = await start('asker', { prompt: 'Hurry.', thread: 't1' })
  expect((await result(taskId)).structuredContent).toMatchObject({ outcome: 'completed' })
})

test('a task belongs to its caller', async () => {
  const { url } = await serving(storyteller(), { auth: byToken })
  const [ada, bob] = [await connect(url, { token: 'ada' }), await connect(url, { token: 'bob' })]
  const { taskId } = await ada.start('storyteller', { prompt: 'Tell.' })
  for (const ask of [bob.tasks.getTask(taskId), bob.tasks.cancelTask(taskId), bob.result(taskId)])
    await expect(ask).rejects.toThrow(`There is no task '${taskId}': call the tool again`)
  expect((await bob.tasks.listTasks()).tasks).toEqual([])
  expect((await ada.tasks.listTasks()).tasks).toHaveLength(1)
})

test.each(['nothing', 'nothing.1', '.1', '../x.1', 't1.99'])('there is no task %s', async (taskId) => {
  const { app, url } = await serving(storyteller())
  await app.thread('t1').create()
  const { tasks } = await connect(url)
  await expect(tasks.getTask(taskId)).rejects.toThrow(`-32602: There is no task '${taskId}'`)
})

const extension = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** Listens to tasks with 2026-07-28. Returns the messages that arrive until the stream ends. */
async function listen(url: string, taskIds: readonly string[], capabilities: object = extension) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 7,
      method: 'subscriptions/listen',
      params: {
        notifications: { taskIds },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': capabilities,
        },
      },
    }),
  })
  const text = await response.text()
  if (response.status !== 200) return [JSON.parse(text)]
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
}

test('changes of tasks are sent to clients that listen, until the tasks have ended', async () => {
  const { app, url } = await serving({ asker: asker(), storyteller: storyteller() })
  const { start } = await connect(url)
  const { taskId } = await start('asker', { prompt: 'Cut it.' })
  const [thread = ''] = taskId.split('.')
  await until(async () => (await app.thread(thread).info()).status === 'waiting')
  const listening = listen(url, [taskId, 'nothing.1'], { ...extension, elicitation: {} })
  const other = await start('storyteller', { prompt: 'Tell.' })
  await until(async () => (await app.threads({ status: 'idle' })).threads.length === 1)
  await app.thread(thread).approve('call_1', { approved: true })
  const messages = await listening
  expect(messages[0].params).toMatchObject({
    notifications: { taskIds: [taskId] },
    _meta: { 'io.modelcontextprotocol/subscriptionId': 7 },
  })
  const states = messages.slice(1, -1).map(({ method, params }) => [method, params.status])
  expect(states.at(0)).toEqual(['notifications/tasks', 'input_required'])
  expect(messages[1].params.inputRequests.call_1.method).toBe('elicitation/create')
  expect(states.at(-1)).toEqual(['notifications/tasks', 'completed'])
  expect(messages.at(-2).params.result.structuredContent).toMatchObject({ text: 'It is cut.' })
  expect(messages.at(-1)).toMatchObject({ id: 7, result: { resultType: 'complete' } })
  // One that has ended is sent once.
  const again = await listen(url, [other.taskId])
  expect(again.slice(1, -1).map(({ params }) => params.status)).toEqual(['completed'])
})

test('listening to tasks needs the extension', async () => {
  const { url } = await serving(storyteller())
  expect(await listen(url, ['t1.1'], {})).toMatchObject([{ id: 7, error: { code: -32021 } }])
})
