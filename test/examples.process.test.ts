import { createHmac } from 'node:crypto'
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { textOf } from 'millrace'
import { client } from 'millrace/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startExample } from './example-process.ts'
import { root } from './root.ts'

test.each(globSync('examples/*/', { cwd: root }))('%s has a README', (folder) => {
  expect(existsSync(join(root, folder, 'README.md'))).toBe(true)
})

test('the Hono server answers its own routes, and agents below /agents', async () => {
  const url = await startExample('hono-server')
  expect(await (await fetch(new URL('/', url))).text()).toContain('My app')
  expect((await fetch(`${url}/threads`)).status).toBe(401)
  const thread = await client(url, { token: 'token-of-ada' }).create()
  const seq = await thread.send('What did I order?')
  for await (const _ of thread.follow({ until: seq }));
  const { messages } = await thread.state()
  expect(messages.find(({ role }) => role === 'tool')?.content).toEqual([
    { type: 'json', value: [{ id: 'ORD-42', owner: 'ada' }] },
  ])
  expect(textOf(messages.at(-1) as never)).toBe('You have one order: ORD-42.')
})

test('the Next.js route handler serves threads below /api', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-next-'))
  vi.stubEnv('DATA', join(folder, 'threads.db'))
  const { GET, POST, DELETE } = await import('../examples/next-chat/app/api/[[...path]]/route.ts')
  const { app } = await import('../examples/next-chat/lib/agent.ts')
  onTestFinished(async () => {
    await app.close()
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true, force: true })
  })
  const handlers: Record<string, (request: Request) => Promise<Response>> = { GET, POST, DELETE }
  // The client that the page uses, with the handlers in place of the network.
  const fetch = (...args: Parameters<typeof globalThis.fetch>) => {
    const request = new Request(...args)
    return handlers[request.method]?.(request) as Promise<Response>
  }
  const thread = await client('http://localhost:3000/api', { fetch, transport: 'sse' }).create()
  const seq = await thread.send('Where is ORD-42?')
  let text = ''
  for await (const { event } of thread.follow({ until: seq })) if (event.type === 'text') text += event.text
  expect(text).toBe('Let me look. ORD-42 has shipped.')
  await thread.delete()
  await expect(thread.state()).rejects.toMatchObject({ code: 'not_found' })
})

test('the Slack bot answers in the thread, asks with buttons, and continues after the click', async () => {
  const secret = 'signing-secret'
  const calls: { method: string; body: { text: string; ts?: string; blocks?: unknown[] } }[] = []
  const slack = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString())
    calls.push({ method: request.url?.slice(1) ?? '', body })
    response.end(JSON.stringify({ ok: true, ts: `ts-${calls.length}` }))
  })
  await new Promise<void>((resolve) => slack.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    slack.closeAllConnections()
    slack.close()
  })
  const url = await startExample('slack-bot', {
    SLACK_BOT_TOKEN: 'xoxb-1',
    SLACK_SIGNING_SECRET: secret,
    SLACK_API_URL: `http://127.0.0.1:${(slack.address() as AddressInfo).port}/`,
  })
  const post = (path: string, body: string, signed = true) => {
    const time = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', signed ? secret : 'wrong')
      .update(`v0:${time}:${body}`)
      .digest('hex')
    return fetch(new URL(path, url), {
      method: 'POST',
      headers: { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${signature}` },
      body,
    })
  }
  const mention = JSON.stringify({
    type: 'event_callback',
    event_id: 'Ev1',
    event: { type: 'app_mention', channel: 'C1', ts: '1.1', text: '<@U0> deploy the website' },
  })
  expect((await post('/slack/events', mention, false)).status).toBe(401)
  const challenge = JSON.stringify({ type: 'url_verification', challenge: 'echo' })
  expect(await (await post('/slack/events', challenge)).text()).toBe('echo')

  // Slack sends an event again if the response is late.
  await Promise.all([post('/slack/events', mention), post('/slack/events', mention)])
  const question = await vi.waitUntil(() => calls.find(({ body }) => body.blocks?.length === 2), {
    timeout: 60_000,
  })
  expect(question.body).toMatchObject({ channel: 'C1', thread_ts: '1.1', text: 'Deploy website?' })
  expect(calls.filter(({ body }) => body.blocks?.length === 2)).toHaveLength(1)
  expect(calls[0]).toMatchObject({
    method: 'chat.postMessage',
    body: { text: expect.stringMatching(/^On it/) },
  })

  const [, actions] = question.body.blocks as { elements: { value: string }[] }[]
  const payload = {
    actions: [{ value: actions?.elements[0]?.value }],
    channel: { id: 'C1' },
    user: { id: 'U7' },
    message: { ts: 'ts-9', thread_ts: '1.1', text: question.body.text },
  }
  await post('/slack/interactions', String(new URLSearchParams({ payload: JSON.stringify(payload) })))
  await vi.waitUntil(() => calls.some(({ body }) => body.text === 'The website is deployed.'), {
    timeout: 60_000,
  })
  expect(calls).toContainEqual({
    method: 'chat.update',
    body: { channel: 'C1', ts: 'ts-9', text: 'Allowed by <@U7>: Deploy website?', blocks: [] },
  })
})
