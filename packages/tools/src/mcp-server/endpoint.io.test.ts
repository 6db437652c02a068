import { agent } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { muser, storyteller, until } from '../../../millrace/src/protocols/protocols.test-kit.ts'
import { byToken, served } from '../../../millrace/src/server/server.test-kit.ts'
import { mcp } from '../mcp.ts'
import { connectStateless, textOf } from './mcp-clients.test-kit.ts'
import { clerk, serving } from './serving.test-kit.ts'

describe('the route', () => {
  test('exists only if the protocol is configured', async () => {
    const { ask } = served(storyteller())
    expect((await ask('POST', '/mcp', { body: {} })).status).toBe(404)
  })

  test('rejects other hosts and origins', async () => {
    const { app } = await serving(storyteller())
    const status = async (host: string, headers = {}) =>
      (await app.fetch(new Request(`http://${host}/mcp`, { method: 'POST', headers }))).status
    expect(await status('evil.example')).toBe(403)
    expect(await status('localhost', { origin: 'https://evil.example' })).toBe(403)
    expect(await status('localhost', { accept: 'application/json, text/event-stream' })).toBe(415)
  })

  test('limits body size and concurrent calls', async () => {
    const { url } = await serving(muser(), { auth: byToken, limits: { bodyBytes: 2000, streams: 1 } })
    const client = await connectStateless(url, { token: 'ada' })
    await expect(client.call('muser', { prompt: 'x'.repeat(3000) })).rejects.toThrow(/larger than 2000 bytes/)
    const cancel = new AbortController()
    const messages: string[] = []
    const first = client.call(
      'muser',
      { prompt: 'Think.' },
      { signal: cancel.signal, onProgress: (message) => messages.push(message) },
    )
    const rejection = expect(first).rejects.toThrow()
    await until(() => messages.includes('Hm.'))
    await expect(client.call('muser', { prompt: 'Think.' })).rejects.toThrow(/1 streams open/)
    cancel.abort()
    await rejection
    await until(async () => (await client.tools().catch(() => [])).length === 1)
  })

  test('hides internal details of errors from callers', async () => {
    const model = scriptedModel(() => [{ error: { code: 'auth', message: 'key sk-1 refused' } }])
    const { url } = await serving(agent({ name: 'broken', model }), { auth: byToken })
    const result = await (await connectStateless(url, { token: 'ada' })).call('broken', { prompt: 'Hi' })
    expect(JSON.stringify(result)).not.toContain('sk-1')
    expect(textOf(result)).toBe("The agent 'broken' failed: the model provider rejected the request.")
  })
})

test('an agent uses the agent of another server as a tool, with progress', async () => {
  const { app, url } = await serving(clerk())
  const desk = await mcp({ url, name: 'desk' })
  onTestFinished(() => desk.close())
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'They say so.' : [{ call: 'desk_clerk', input: { prompt: 'Where?' } }],
  )
  const run = agent({ name: 'boss', model, tools: [desk] }).stream('Ask the desk.')
  const events = await Array.fromAsync(run)
  const [result] = events.filter((event) => event.type === 'tool-result')
  expect(result).toMatchObject({ name: 'desk_clerk', status: 'ok' })
  expect(JSON.stringify(result?.output)).toContain('Answer 1: it is shipped.')
  expect(JSON.stringify(events.filter(({ type }) => type === 'tool-progress'))).toContain('running look_up')
  expect((await app.threads()).threads).toHaveLength(1)
})

test('a stopped agent stops the agent that it called', async () => {
  const { app, url } = await serving(muser())
  const desk = await mcp({ url })
  onTestFinished(() => desk.close())
  const model = scriptedModel(() => [{ call: 'muser', input: { prompt: 'Think.' } }])
  const run = agent({ name: 'boss', model, tools: [desk] }).stream('Ask the desk.')
  await until(async () => (await app.threads({ status: 'running' })).threads.length === 1)
  run.cancel('enough')
  await run.result
  await until(async () => (await app.threads({ status: 'idle' })).threads.length === 1)
})
