import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Task } from '@a2a-js/sdk'
import { memoryStore } from 'millrace'
import { serve } from 'millrace/server'
import { expect, onTestFinished, test } from 'vitest'
import {
  asker,
  muser,
  story,
  storyteller,
  until,
} from '../../../millrace/src/protocols/protocols.test-kit.ts'
import { ask, connect, message, requestsIn, serving, stateOf, textOf } from './a2a.test-kit.ts'
import { a2a } from './a2a.ts'
import { pushStore } from './push-store.ts'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly task: Task
}

/** A client's webhook, which answers with these statuses first. */
async function receiver({ statuses = [] as number[], location = '' } = {}) {
  const received: Received[] = []
  let requests = 0
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request))
    const status = statuses[requests++] ?? 200
    if (status === 200) received.push({ headers: request.headers, task: Task.fromJSON(body.task) })
    response.writeHead(status, location ? { location } : {}).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    requests: () => requests,
    states: () => received.map(({ task }) => stateOf(task)),
  }
}

function pushFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-push-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'push.db')
}

const allow = ['127.0.0.1']
const configOf = (url: string, more: object = {}) => ({
  tenant: '',
  id: '',
  taskId: '',
  url,
  token: '',
  authentication: undefined,
  ...more,
})
const withPush = (words: string, config: object) => ({
  ...message(words),
  configuration: {
    acceptedOutputModes: [],
    returnImmediately: true,
    taskPushNotificationConfig: config,
  } as never,
})

test('each state of a task is sent, with the credentials of the client', async () => {
  const hook = await receiver()
  const file = pushFile()
  const { url } = await serving(asker(), { push: { file, allow } })
  const client = await connect(url)
  const authentication = { scheme: 'Bearer', credentials: 'secret' }
  const task = await ask(client, withPush('Cut it', configOf(hook.url, { token: 'mine', authentication })))
  await until(() => hook.received.length === 2)
  const [{ headers, task: waiting } = {} as never] = hook.received.slice(-1)
  expect(headers).toMatchObject({ authorization: 'Bearer secret', 'x-a2a-notification-token': 'mine' })
  const [{ callId } = { callId: '' }] = requestsIn(waiting)
  await ask(client, message({ callId, approved: true }, { taskId: task.id }))
  await until(() => hook.states().includes('TASK_STATE_COMPLETED'))
  expect(hook.states()).toEqual([
    'TASK_STATE_WORKING',
    'TASK_STATE_INPUT_REQUIRED',
    'TASK_STATE_WORKING',
    'TASK_STATE_COMPLETED',
  ])
  expect(hook.received.map(({ task: { id } }) => id)).toEqual(Array(4).fill(task.id))
  expect(textOf(hook.received[3]?.task as Task)).toBe('It is cut.')
  // It is kept only until the task has ended, in a file that others cannot read.
  const list = () =>
    client.listTaskPushNotificationConfig({ tenant: '', taskId: task.id, pageSize: 0, pageToken: '' })
  await until(async () => (await list()).configs.length === 0)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('configurations are created, read without credentials, replaced and deleted', async () => {
  const [hook, unused, early] = [await receiver(), await receiver(), await receiver()]
  const { url } = await serving(muser(), { push: { file: pushFile(), allow } })
  const client = await connect(url)
  expect(
    (await fetch(`${url}/.well-known/agent-card.json`).then((card) => card.json())).capabilities
      .pushNotifications,
  ).toBe(true)
  const sent = withPush('Think', configOf(early.url))
  const task = await ask(client, sent)
  await ask(client, sent)
  await until(async () => stateOf(await client.getTask({ tenant: '', id: task.id })) === 'TASK_STATE_WORKING')
  const ids = { tenant: '', taskId: task.id }
  await until(() => early.states().includes('TASK_STATE_WORKING'))
  const listed = await client.listTaskPushNotificationConfig({ ...ids, pageSize: 0, pageToken: '' })
  expect(listed.configs.map(({ id }) => id)).toEqual([sent.message.messageId])
  await client.deleteTaskPushNotificationConfig({ ...ids, id: sent.message.messageId })
  const authentication = { scheme: 'Bearer', credentials: 'secret' }
  for (const { url } of [unused, hook])
    await client.createTaskPushNotificationConfig(configOf(url, { ...ids, id: 'one', authentication }))
  const made = await client.createTaskPushNotificationConfig(configOf(unused.url, ids))
  expect(made.id).toMatch(/^[\w-]{36}$/)
  const read = await client.getTaskPushNotificationConfig({ ...ids, id: 'one' })
  expect(read).toMatchObject({
    id: 'one',
    url: hook.url,
    authentication: { scheme: 'Bearer', credentials: '' },
  })
  await client.deleteTaskPushNotificationConfig({ ...ids, id: made.id })
  await client.deleteTaskPushNotificationConfig({ ...ids, id: made.id })
  await expect(client.getTaskPushNotificationConfig({ ...ids, id: made.id })).rejects.toThrow(
    'no such push notification',
  )
  const { configs } = await client.listTaskPushNotificationConfig({ ...ids, pageSize: 0, pageToken: '' })
  expect(configs.map(({ id }) => id)).toEqual(['one'])
  await client.cancelTask({ tenant: '', id: task.id, metadata: undefined })
  await until(() => hook.received.length === 1)
  expect(hook.states()).toEqual(['TASK_STATE_CANCELED'])
  expect(unused.requests()).toBe(0)
  expect(early.states()).not.toContain('TASK_STATE_CANCELED')
})

test('a receiver that fails is tried again, and a redirect is not followed', async () => {
  const other = await receiver()
  const hook = await receiver({ statuses: [503, 302], location: other.url })
  const { url } = await serving(storyteller(), { push: { file: pushFile(), allow } })
  const client = await connect(url)
  await ask(client, withPush('Tell', configOf(hook.url)))
  await until(() => hook.states().includes('TASK_STATE_COMPLETED'))
  expect(hook.states()).toEqual(['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'])
  expect(hook.requests()).toBe(4)
  expect(other.requests()).toBe(0)
})

test.each([
  ['http://127.0.0.1:1/hook', "must start with 'https://'"],
  ['https://127.0.0.1:1/hook', "'127.0.0.1' is a loopback address"],
  ['https://[::ffff:10.0.0.1]/', 'a private address'],
  ['https://169.254.169.254/latest', 'a link-local address'],
  ['https://user:secret@example.org/', 'without credentials'],
  ['ftp://example.org/', 'must be a URL with https://'],
  ['nowhere', 'must be a URL with https://'],
])('%s is not notified, and the message is not sent', async (target, expected) => {
  const { app, url } = await serving(muser(), { push: { file: pushFile() } })
  const client = await connect(url)
  await expect(ask(client, withPush('Think', configOf(target)))).rejects.toThrow(expected)
  expect((await app.threads()).threads).toEqual([])
})

test('what was not delivered when the server ended is delivered by the next one', async () => {
  const hook = await receiver({ statuses: Array(3).fill(503) })
  const file = pushFile()
  const store = memoryStore()
  const start = () =>
    serve({
      agents: storyteller(story, { paceMs: 2 }),
      store,
      protocols: [a2a({ push: { file, allow } })],
      onError: () => {},
    })
  const first = start()
  const client = await connect((await first.listen()).url)
  const task = await ask(client, withPush('Tell', configOf(hook.url)))
  await until(() => hook.requests() === 1)
  await first.close()
  expect(hook.received).toEqual([])
  const second = start()
  onTestFinished(() => second.close())
  await until(() => hook.states().includes('TASK_STATE_COMPLETED'))
  expect(hook.received.at(-1)?.task.id).toBe(task.id)
})

test('a receiver that never accepts is given up, and the server reports it', async () => {
  const hook = await receiver({ statuses: Array(100).fill(500) })
  const errors: string[] = []
  const { url } = await serving(
    muser(),
    { push: { file: pushFile(), allow, attempts: 2 } },
    { onError: ({ message }) => errors.push(message) },
  )
  const client = await connect(url)
  await ask(client, withPush('Think', configOf(hook.url)))
  await until(() => errors.length > 0)
  expect(errors[0]).toMatch(/was given up after 2 attempts: the receiver answered with status 500/)
  expect(hook.requests()).toBe(2)
})

test('what a process that was killed had claimed is claimed by another one later', () => {
  const file = pushFile()
  const [killed, next] = [pushStore(file), pushStore(file)]
  onTestFinished(() => {
    killed.close()
    next.close()
  })
  const config = {
    ...{ task: 'thread_1', id: 'one', thread: 'thread', url: 'https://example.org/', sent: 1 },
    ...{ token: '', scheme: '', credentials: '' },
  }
  killed.add({ ...config, owner: 'killed' }, 60_000)
  expect(next.claim('next', 60_000)).toEqual([])
  killed.renew({ ...config, owner: 'killed' }, 'killed', -1)
  expect(next.claim('next', 60_000)).toMatchObject([{ ...config, owner: 'next' }])
  // A process that was only slow does not take it back.
  killed.renew({ ...config, owner: 'killed' }, 'killed', -1)
  expect(killed.claim('killed', 60_000)).toEqual([])
})
