import { createHmac } from 'node:crypto'
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai'
import { textOf } from 'millrace'
import { client } from 'millrace/client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
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

describe('the Next.js example', () => {
  type Handle = (request: Request) => Promise<Response>

  /** What `useChat` uses, with route handlers in place of the network. */
  function chatWith(api: string, { POST, GET = POST }: { readonly POST: Handle; readonly GET?: Handle }) {
    const transport = new DefaultChatTransport({
      api,
      async fetch(...args) {
        const request = new Request(new URL(String(args[0]), 'http://localhost:3000'), args[1])
        return (request.method === 'POST' ? POST : GET)(request)
      },
    })
    const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses
    return new Chat({ id: 'chat-1', transport, sendAutomaticallyWhen })
  }

  const partsOf = ({ lastMessage }: Chat<UIMessage>) =>
    lastMessage?.parts.flatMap((part) => {
      if (part.type === 'text') return part.text
      return part.type === 'dynamic-tool' ? `${part.toolName} ${part.state}` : []
    })

  test('answers in a route handler', async () => {
    const { POST } = await import('../examples/nextjs/app/api/run/route.ts')
    const chat = chatWith('/api/run', { POST })
    await chat.sendMessage({ text: 'Where is ORD-42?' })
    expect(partsOf(chat)).toEqual(['Let me look. ', 'lookup_order output-available', 'ORD-42 has shipped.'])
    const bad = await POST(new Request('http://localhost:3000/api/run', { method: 'POST', body: '{}' }))
    expect([bad.status, await bad.text()]).toEqual([400, expect.stringContaining("'messages'")])
  })

  test('answers with a server, which keeps an approval and the conversation', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-next-'))
    vi.stubEnv('DATA', join(folder, 'threads.db'))
    const route = await import('../examples/nextjs/app/api/chat/[[...path]]/route.ts')
    const { server } = await import('../examples/nextjs/lib/server.ts')
    onTestFinished(async () => {
      await server.close()
      vi.unstubAllEnvs()
      rmSync(folder, { recursive: true, force: true })
    })
    const chat = chatWith('/api/chat', route)
    await chat.sendMessage({ text: 'Cancel ORD-42' })
    expect(partsOf(chat)).toEqual(['cancel_order approval-requested'])
    const [request] = chat.lastMessage?.parts.filter((part) => part.type === 'dynamic-tool') ?? []
    await chat.addToolApprovalResponse({ id: request?.approval?.id ?? '', approved: true })
    await expect.poll(() => partsOf(chat)).toEqual(['cancel_order output-available', 'Done.'])
    const stored = await route.GET(new Request('http://localhost:3000/api/chat/chat-1/messages'))
    expect(await stored.json()).toMatchObject([{ role: 'user' }, { role: 'assistant' }])
  })
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
