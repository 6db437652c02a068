import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { ServeOptions } from '../server/index.ts'
import { serve } from '../server/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { client } from './index.ts'

function startServer(options: Partial<ServeOptions> = {}) {
  const model = scriptedModel(() => 'Here I am.')
  const app = serve({ agents: agent({ model }), ...options })
  onTestFinished(() => app.close({ graceMs: 0 }))
  return app.listen()
}

async function finishedRun(options: Partial<ServeOptions> = {}, token?: string) {
  const { url } = await startServer(options)
  const thread = await client(url, { ...(token !== undefined && { token }) }).create()
  const seq = await thread.send('Where are you?')
  let run = ''
  for await (const { event } of thread.follow({ until: seq }))
    if (event.type === 'run-start') run = event.runId
  return { thread, run }
}

test('recorded model calls can be read', async () => {
  const { thread, run } = await finishedRun()
  const exchanges = await thread.exchanges({ run, round: 1 })
  expect(exchanges).toMatchObject([
    { runId: run, round: 1, attempt: 1, model: 'scripted', request: { messages: [{ role: 'user' }] } },
  ])
  expect(await thread.exchanges({ run })).toEqual(exchanges)
  expect(await thread.exchanges({ run, round: 2 })).toEqual([])
})

test('recorded model calls are rejected without permission, or if there are none', async () => {
  const auth = () => ({ user: 'ada' })
  const rejected = await finishedRun({ auth, exchanges: true }, 'x')
  await expect(rejected.thread.exchanges({ run: rejected.run })).rejects.toMatchObject({
    code: 'auth',
    status: 403,
  })
  const off = await finishedRun({ exchanges: false })
  await expect(off.thread.exchanges({ run: off.run })).rejects.toMatchObject({ code: 'not_found' })
})

test('a conversation can be exported as a test', async () => {
  const { thread } = await finishedRun()
  expect(await thread.testScript()).toContain("scriptedModel(['Here I am.'])")
  const { url } = await startServer()
  const silent = await client(url).create()
  await expect(silent.testScript()).rejects.toMatchObject({ code: 'invalid_input', status: 400 })
})

test('exchanges() requires a run', async () => {
  const thread = client('http://127.0.0.1:1').thread('t')
  await expect(thread.exchanges({} as { run: string })).rejects.toThrow(
    "exchanges(): the option 'run' must be text",
  )
  await expect(thread.exchanges({ run: 'r', round: 1.5 })).rejects.toThrow("the option 'round'")
  await expect(thread.exchanges(undefined as never)).rejects.toMatchObject({ code: 'invalid_input' })
})
