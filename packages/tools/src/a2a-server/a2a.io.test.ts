import { TaskState } from '@a2a-js/sdk'
import { agent } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import {
  asker,
  delegator,
  muser,
  picker,
  ruled,
  story,
  storyteller,
  until,
} from '../../../millrace/src/protocols/protocols.test-kit.ts'
import { byToken } from '../../../millrace/src/server/server.test-kit.ts'
import { clerk } from '../mcp-server/serving.test-kit.ts'
import {
  ask,
  collect,
  connect,
  dataIn,
  message,
  requestsIn,
  serving,
  stateOf,
  textOf,
} from './a2a.test-kit.ts'

test('a message is answered by a task, and its context continues', async () => {
  const { app, url } = await serving(clerk())
  const client = await connect(url)
  const first = await ask(client, message('Where is ORD-42?'))
  expect(stateOf(first)).toBe('TASK_STATE_COMPLETED')
  expect(textOf(first)).toBe('Let me look. Answer 1: it is shipped.')
  const second = await ask(client, message('And now?', { contextId: first.contextId }))
  expect(second.contextId).toBe(first.contextId)
  expect(textOf(second)).toBe('Let me look. Answer 2: it is shipped.')
  expect((await app.threads()).threads).toMatchObject([{ id: first.contextId }])
})

test('a stream has the task, its changes of state, the text as it grows, and tool calls', async () => {
  const { url } = await serving(clerk())
  const client = await connect(url)
  const events = await collect(client.sendMessageStream(message('Where is ORD-42?')))
  expect(events[0]?.payload).toMatchObject({ $case: 'task' })
  expect(dataIn(events)).toEqual([
    { type: 'tool-call', callId: 'call_1', name: 'look_up', input: { id: 'ORD-42' } },
    { type: 'tool-result', callId: 'call_1', name: 'look_up', status: 'ok', isError: false },
  ])
  expect(events.at(-1)?.payload).toMatchObject({
    $case: 'statusUpdate',
    value: { status: { state: TaskState.TASK_STATE_COMPLETED } },
  })
})

test('an approval is a data part, and so is the decision', async () => {
  const { url } = await serving(asker())
  const client = await connect(url)
  const task = await ask(client, message('Cut it'))
  expect(stateOf(task)).toBe('TASK_STATE_INPUT_REQUIRED')
  const { contextId, id: taskId } = task
  await expect(ask(client, message('yes, do it', { contextId, taskId }))).rejects.toThrow(
    'text cannot approve',
  )
  const [{ callId } = { callId: '' }] = requestsIn(task)
  const done = await ask(client, message({ callId, approved: true }, { contextId, taskId }))
  expect(done.id).toBe(task.id)
  expect({ state: stateOf(done), text: textOf(done) }).toEqual({
    state: 'TASK_STATE_COMPLETED',
    text: 'It is cut.',
  })
})

test('a client that is back gets the rest of a task', async () => {
  const { url } = await serving(storyteller(story, { paceMs: 5 }))
  const client = await connect(url)
  let taskId = ''
  for await (const { payload } of client.sendMessageStream(message('Tell'))) {
    if (payload?.$case === 'task') taskId = payload.value.id
    if (payload?.$case === 'artifactUpdate') break
  }
  await collect(client.resubscribeTask({ tenant: '', id: taskId }))
  const task = await client.getTask({ tenant: '', id: taskId })
  expect({ state: stateOf(task), text: textOf(task) }).toEqual({ state: 'TASK_STATE_COMPLETED', text: story })
})

/** An agent that repeats what it reads. */
function parrot() {
  const model = scriptedModel(({ messages }) => JSON.stringify(messages.at(-1)?.content))
  return agent({ name: 'parrot', description: 'Repeats everything', starters: ['Hello'], model })
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const rpc = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 7, method, params })

describe('cards', () => {
  test('each agent has one, which says where it is and what it can do', async () => {
    const { url } = await serving({ parrot: parrot(), 'night desk': storyteller() })
    const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
    expect(card).toMatchObject({
      name: 'parrot',
      description: 'Repeats everything',
      supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { streaming: true, pushNotifications: false },
      skills: [{ examples: ['Hello'] }],
    })
    expect(card).not.toHaveProperty('securitySchemes')
    const client = await connect(`${url}/a2a/night%20desk`)
    expect(textOf(await ask(client, message('Tell')))).toBe(story)
    expect((await fetch(`${url}/a2a/missing/.well-known/agent-card.json`)).status).toBe(404)
  })

  test('options choose the agent, the address and the fields', async () => {
    const { url } = await serving(
      { parrot: parrot(), storyteller: storyteller() },
      { agent: 'storyteller', url: 'https://mill.example/', cards: { storyteller: { version: '3' } } },
    )
    expect(await (await fetch(`${url}/.well-known/agent-card.json`)).json()).toMatchObject({
      name: 'storyteller',
      version: '3',
      supportedInterfaces: [{ url: 'https://mill.example/a2a' }],
    })
    await expect(serving(parrot(), { agent: 'parot' })).rejects.toThrow("Did you mean 'parrot'?")
    await expect(serving(parrot(), { adress: 'x' } as never)).rejects.toThrow("'adress'")
  })

  test('are public, but nothing else is', async () => {
    const { url } = await serving(parrot(), {}, { auth: byToken })
    const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
    expect(card).toMatchObject({
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    })
    const anonymous = await connect(url)
    await expect(ask(anonymous, message('Hi'))).rejects.toThrow('authentication required')
    const ada = await connect(url, { token: 'ada' })
    const task = await ask(ada, message('Hi'))
    const bob = await connect(url, { token: 'bob' })
    await expect(bob.getTask({ tenant: '', id: task.id })).rejects.toThrow('there is no task')
    // The context of another user is not found either, so this is a new one with the same name.
    const other = await ask(bob, message('Hi', { contextId: task.contextId }))
    expect(other.contextId).toBe(task.contextId)
    expect(other.id).not.toBe(task.id)
  })
})

test('pages of an allowed origin may use it', async () => {
  const { url } = await serving(parrot(), {}, { origins: ['https://app.example'] })
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  const preflight = await fetch(`${url}/a2a`, { method: 'OPTIONS', headers })
  expect(preflight.headers.get('access-control-allow-headers')?.split(', ')).toContain('a2a-version')
  const card = await fetch(`${url}/.well-known/agent-card.json`, {
    headers: { origin: 'https://app.example' },
  })
  expect(card.headers.get('access-control-allow-origin')).toBe('https://app.example')
})

describe('errors have the form of JSON-RPC', () => {
  const rejected = async (body: unknown, headers = {}) => {
    const { url } = await serving(parrot())
    const response = await post(`${url}/a2a`, body, headers)
    const { id, error } = await response.json()
    return {
      status: response.status,
      id,
      code: error.code,
      reason: error.data[0].reason,
      message: error.message,
    }
  }

  test.each([
    [rpc('SendMessages', {}), { status: 200, id: 7, code: -32601, reason: 'METHOD_NOT_FOUND' }],
    [rpc('GetExtendedAgentCard', {}), { status: 200, id: 7, code: -32004, reason: 'UNSUPPORTED_OPERATION' }],
    [rpc('GetTask', { id: 'missing' }), { status: 200, id: 7, code: -32001, reason: 'TASK_NOT_FOUND' }],
    [rpc('SendMessage', { message: { parts: [] } }), { status: 200, id: 7, code: -32602 }],
    [
      rpc('SendMessage', { message: { parts: [{ text: 'Hi' }] } }),
      { code: -32602, message: expect.stringMatching('messageId') },
    ],
    [
      rpc('SendMessage', { message: { messageId: 'm', parts: [{ raw: 'aGk=' }] } }),
      { code: -32005, message: expect.stringMatching('mediaType') },
    ],
    [
      rpc('SendMessage', {
        message: { messageId: 'm', parts: [{ text: 'Hi' }] },
        configuration: { acceptedOutputModes: ['audio/wav'] },
      }),
      { code: -32005, message: expect.stringMatching('text/plain') },
    ],
    [
      rpc('SendMessage', {
        message: { messageId: 'm', parts: [{ text: 'Hi' }] },
        configuration: { taskPushNotificationConfig: { url: 'https://example.org' } },
      }),
      { code: -32003 },
    ],
    [rpc('ListTaskPushNotificationConfigs', { taskId: 'x' }), { code: -32003 }],
    [rpc('ListTasks', {}), { code: -32004, message: expect.stringMatching('contextId') }],
    [
      rpc('ListTasks', { contextId: 'c', pageSize: 'x' }),
      { code: -32602, message: expect.stringMatching('pageSize') },
    ],
    [
      rpc('ListTasks', { contextId: 'c', pageToken: 'x' }),
      { code: -32602, message: expect.stringMatching('pageToken') },
    ],
    [
      rpc('ListTasks', { contextId: 'c', statusTimestampAfter: 'soon' }),
      { code: -32602, message: expect.stringMatching('ISO 8601') },
    ],
    [rpc('GetTask', []), { id: 7, code: -32602 }],
    [
      { id: 7, method: 'GetTask' },
      { status: 200, id: 7, code: -32600 },
    ],
    ['{', { status: 400, id: null, code: -32700, message: expect.stringMatching('not valid JSON') }],
  ])('%j', async (body, expected) => {
    expect(await rejected(body)).toMatchObject(expected)
  })

  test('a request that is too large', async () => {
    const error = await rejected('x'.repeat(33 * 1024 * 1024))
    expect(error).toMatchObject({ status: 413, id: null, code: -32600 })
    expect(error.message).toMatch('33554432 bytes')
  })

  test.each(['0.3', '2.0', ''])("version '%s' is rejected", async (version) => {
    const error = await rejected(rpc('GetTask', { id: 'x' }), { 'a2a-version': version })
    expect(error).toMatchObject({ code: -32009, message: expect.stringMatching("send 'A2A-Version: 1.0'") })
  })

  test('also those of the server itself', async () => {
    const { url } = await serving(parrot(), {}, { auth: byToken })
    const unauthorized = await post(`${url}/a2a`, rpc('GetTask', {}))
    expect(unauthorized.status).toBe(401)
    expect(unauthorized.headers.get('www-authenticate')).toBe('Bearer')
    expect(await unauthorized.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32000 } })
    const missing = await fetch(`${url}/a2a/x/y`)
    expect({ status: missing.status, body: await missing.json() }).toMatchObject({
      status: 404,
      body: { jsonrpc: '2.0', error: { code: -32000 } },
    })
    const unknown = await post(`${url}/a2a/missing`, rpc('GetTask', {}), { authorization: 'Bearer ada' })
    expect(unknown.status).toBe(404)
  })
})

test('too many requests are rejected in the form of JSON-RPC', async () => {
  const { url } = await serving(parrot(), {}, { auth: byToken, limits: { requestsPerSecond: 1 } })
  const request = () => post(`${url}/a2a`, rpc('GetTask', { id: 'x' }), { authorization: 'Bearer ada' })
  const responses = await Promise.all(Array.from({ length: 10 }, request))
  const rejected = responses.find(({ status }) => status === 429)
  expect(rejected?.headers.get('retry-after')).toMatch(/^\d+$/)
  expect(await rejected?.json()).toMatchObject({
    id: null,
    error: { code: -32000, message: 'too many requests: slow down' },
  })
})

describe('messages', () => {
  test('the same messageId is one message, with and without a context', async () => {
    const { app, url } = await serving(clerk())
    const client = await connect(url)
    const hello = message('Where is ORD-42?')
    const [one, two] = await Promise.all([ask(client, hello), ask(client, hello)])
    expect(two.id).toBe(one.id)
    const next = message('And now?', { contextId: 'my context' })
    const three = await ask(client, next)
    expect((await ask(client, next)).id).toBe(three.id)
    expect(three.contextId).toBe('my context')
    expect((await app.threads()).threads).toHaveLength(2)
  })

  test('files and data reach the model', async () => {
    const { url } = await serving(parrot())
    const client = await connect(url)
    const part = (content: object, mediaType = '', filename = '') => ({
      content,
      mediaType,
      filename,
      metadata: undefined,
    })
    const png = Buffer.from('iVBORw0KGgo=', 'base64')
    const parts = [
      part({ $case: 'text', value: 'Look' }),
      part({ $case: 'data', value: { order: 42 } }),
      part({ $case: 'raw', value: Buffer.from('a,b') }, 'text/csv', 'list.csv'),
      part({ $case: 'raw', value: png }, 'image/png'),
      part({ $case: 'url', value: 'https://example.org/a.pdf' }, 'application/pdf', 'a.pdf'),
    ]
    const task = await ask(client, message('', { parts: parts as never }))
    expect(JSON.parse(textOf(task))).toEqual([
      { type: 'text', text: 'Look' },
      { type: 'text', text: '{"order":42}' },
      { type: 'text', text: 'list.csv:\na,b' },
      { type: 'image', data: 'iVBORw0KGgo=', mediaType: 'image/png' },
      { type: 'file', url: 'https://example.org/a.pdf', mediaType: 'application/pdf', name: 'a.pdf' },
    ])
    expect(task.history[0]?.parts.map(({ content }) => content?.$case)).toEqual([
      'text',
      'text',
      'text',
      'raw',
      'url',
    ])
  })

  test('a client that accepts JSON gets an answer in JSON as data', async () => {
    const { url } = await serving(parrot())
    const client = await connect(url)
    const task = await ask(client, {
      ...message('Hi'),
      configuration: {
        acceptedOutputModes: ['application/json'],
        returnImmediately: false,
        taskPushNotificationConfig: undefined,
      } as never,
    })
    expect(task.artifacts.map(({ artifactId }) => artifactId)).toEqual(['answer', 'data'])
    expect(task.artifacts[1]?.parts[0]?.content).toEqual({
      $case: 'data',
      value: [{ type: 'text', text: 'Hi' }],
    })
  })

  test('a client need not wait, chooses how much history it gets, and lists the tasks', async () => {
    const { url } = await serving(clerk())
    const client = await connect(url)
    const configuration = {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: true,
      historyLength: 0,
    }
    const task = await ask(client, { ...message('Where is ORD-42?'), configuration } as never)
    expect(stateOf(task)).toMatch(/SUBMITTED|WORKING/)
    expect(task.history).toEqual([])
    const { contextId } = task
    await until(
      async () => stateOf(await client.getTask({ tenant: '', id: task.id })) === 'TASK_STATE_COMPLETED',
    )
    expect((await client.getTask({ tenant: '', id: task.id })).history).toHaveLength(3)
    expect((await client.getTask({ tenant: '', id: task.id, historyLength: 1 })).history).toHaveLength(1)
    const second = await ask(client, message('And now?', { contextId }))
    const list = {
      tenant: '',
      contextId,
      status: 0,
      pageToken: '',
      statusTimestampAfter: undefined,
      pageSize: 1,
    }
    const { tasks, nextPageToken, totalSize } = await client.listTasks(list)
    expect({ ids: tasks.map(({ id }) => id), totalSize }).toEqual({ ids: [second.id], totalSize: 2 })
    const { tasks: older } = await client.listTasks({
      ...list,
      pageToken: nextPageToken,
      includeArtifacts: true,
    })
    expect(older.map(({ id, artifacts }) => [id, artifacts.length])).toEqual([[task.id, 1]])
    await expect(ask(client, message('Hm', { taskId: task.id }))).rejects.toThrow('this task has ended')
    await expect(ask(client, message('Hm', { taskId: task.id, contextId: 'another' }))).rejects.toThrow(
      'is not the context of the task',
    )
  })
})

describe('decisions', () => {
  test('can change the input, deny with a reason, and be remembered', async () => {
    const { app, url } = await serving({ asker: asker(), ruled: ruled() })
    const client = await connect(`${url}/a2a/asker`)
    const decided = async (decision: object) => {
      const { id: taskId, contextId, ...task } = await ask(client, message('Cut it'))
      const [{ callId } = { callId: '' }] = requestsIn({ id: taskId, contextId, ...task })
      await ask(client, message({ callId, ...decision }, { taskId }))
      const events = (await app.thread(contextId).read()).map(({ event }) => event)
      return JSON.stringify(events.filter(({ type }) => type === 'tool-result'))
    }
    expect(await decided({ approved: true, input: { where: 'there' } })).toContain('cut there')
    expect(await decided({ approved: false, reason: 'too expensive' })).toContain('too expensive')
    const other = await connect(`${url}/a2a/ruled`)
    const task = await ask(other, message('Tie it'))
    const [request] = requestsIn(task)
    expect(request).toMatchObject({
      type: 'approval-request',
      name: 'tie_rope',
      remember: expect.arrayContaining(['thread']),
    })
    const { callId = '' } = request ?? {}
    await ask(other, message({ callId, approved: true, remember: 'thread' }, { taskId: task.id }))
    const again = await ask(other, message('Tie it', { contextId: task.contextId }))
    expect(stateOf(again)).toBe('TASK_STATE_COMPLETED')
  })

  test('a call of a sub-agent is asked for by its whole id', async () => {
    const { url } = await serving(delegator())
    const client = await connect(url)
    const task = await ask(client, message('Go'))
    const [{ callId } = { callId: '' }] = requestsIn(task)
    expect(callId).toBe('call_1/call_1')
    const events = await collect(
      client.sendMessageStream(message({ callId, approved: true }, { taskId: task.id })),
    )
    expect(dataIn(events)).toContainEqual(
      expect.objectContaining({ type: 'tool-result', callId: 'call_1/call_1', name: 'cut_rope' }),
    )
  })

  test('a client brings the result of a call that it runs', async () => {
    const { url } = await serving(picker())
    const client = await connect(url)
    const task = await ask(client, message('Pick'))
    const [request] = requestsIn(task)
    expect(request).toMatchObject({ type: 'result-request', name: 'pick_color', input: { of: 'sky' } })
    const done = await ask(client, message({ callId: request?.callId, output: 'blue' }, { taskId: task.id }))
    expect(textOf(done)).toContain('blue')
  })

  test('a decision that makes no sense is rejected, and the task still waits', async () => {
    const { url } = await serving(asker())
    const client = await connect(url)
    const task = await ask(client, message('Cut it'))
    const [{ callId } = { callId: '' }] = requestsIn(task)
    const send = (data: object, more = { taskId: task.id }) => ask(client, message(data, more))
    await expect(send({ callId, approved: 'yes' })).rejects.toThrow('must be true or false')
    await expect(send({ callId: 'other', approved: true })).rejects.toThrow(/other/)
    // Not even the first of them is made.
    const parts = [callId, 'other'].map((callId) => ({ data: { callId, approved: true } }))
    const both = { messageId: 'both', taskId: task.id, parts }
    const { error } = await (await post(`${url}/a2a`, rpc('SendMessage', { message: both }))).json()
    expect(error.message).toMatch(/other/)
    await expect(send({ callId, approved: true }, { taskId: '' })).rejects.toThrow("needs 'message.taskId'")
    expect(stateOf(await client.getTask({ tenant: '', id: task.id }))).toBe('TASK_STATE_INPUT_REQUIRED')
    // Another message of the context cancels the task, as in a chat.
    const next = await ask(client, message('Something else', { contextId: task.contextId }))
    expect(next.id).not.toBe(task.id)
    expect(stateOf(await client.getTask({ tenant: '', id: task.id }))).toBe('TASK_STATE_CANCELED')
  })
})

describe('canceling', () => {
  test('a task that is running, or waits for a decision', async () => {
    const { url } = await serving({ muser: muser(), asker: asker() })
    const client = await connect(url)
    const stream = client.sendMessageStream(message('Think'))
    const first = await stream.next()
    const { payload } = first.value ?? {}
    const id = payload?.$case === 'task' ? payload.value.id : ''
    const canceled = await client.cancelTask({ tenant: '', id, metadata: undefined })
    expect(stateOf(canceled)).toBe('TASK_STATE_CANCELED')
    const rest = await collect(stream)
    expect(rest.at(-1)?.payload).toMatchObject({
      value: { status: { state: TaskState.TASK_STATE_CANCELED } },
    })
    await expect(client.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toThrow('has ended')
    const other = await connect(`${url}/a2a/asker`)
    const task = await ask(other, message('Cut it'))
    expect(stateOf(await other.cancelTask({ tenant: '', id: task.id, metadata: undefined }))).toBe(
      'TASK_STATE_CANCELED',
    )
  })

  test('a task that has not started, and nothing else', async () => {
    const { url } = await serving(muser())
    const client = await connect(url)
    const later = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true }
    const first = await ask(client, { ...message('Think'), configuration: later } as never)
    const { contextId } = first
    const queued = await ask(client, { ...message('And then', { contextId }), configuration: later } as never)
    expect(stateOf(await client.cancelTask({ tenant: '', id: queued.id, metadata: undefined }))).toBe(
      'TASK_STATE_CANCELED',
    )
    expect(stateOf(await client.getTask({ tenant: '', id: first.id }))).toBe('TASK_STATE_WORKING')
  })

  test('a client that hangs up cancels nothing', async () => {
    const { url } = await serving(storyteller(story, { paceMs: 10 }))
    const client = await connect(url)
    const connection = new AbortController()
    let id = ''
    await expect(
      (async () => {
        for await (const { payload } of client.sendMessageStream(message('Tell'), {
          signal: connection.signal,
        })) {
          if (payload?.$case === 'task') id = payload.value.id
          if (payload?.$case === 'artifactUpdate') connection.abort()
        }
      })(),
    ).rejects.toThrow()
    await until(async () => stateOf(await client.getTask({ tenant: '', id })) === 'TASK_STATE_COMPLETED')
  })

  test('a message with the id of a running task steers it', async () => {
    const { app, url } = await serving(muser())
    const client = await connect(url)
    const later = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true }
    const { id: taskId, contextId } = await ask(client, {
      ...message('Think'),
      configuration: later,
    } as never)
    await until(
      async () => stateOf(await client.getTask({ tenant: '', id: taskId })) === 'TASK_STATE_WORKING',
    )
    const same = await ask(client, { ...message('Faster', { taskId }), configuration: later } as never)
    expect(same.id).toBe(taskId)
    expect((await app.thread(contextId).state()).queued).toMatchObject([{ mode: 'steer' }])
    const list = { tenant: '', contextId, status: 0, pageToken: '', statusTimestampAfter: undefined }
    expect((await client.listTasks(list)).tasks.map(({ id }) => id)).toEqual([taskId])
    // Other protocols steer even if no run is in progress.
    await client.cancelTask({ tenant: '', id: taskId, metadata: undefined })
    const seq = await app.thread(contextId).send('Again', { mode: 'steer' })
    expect((await client.listTasks(list)).tasks.map(({ id }) => id)).toEqual([`${contextId}_${seq}`, taskId])
  })
})
