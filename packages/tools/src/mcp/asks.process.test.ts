import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ApprovalAnswer, JsonObject, Thread, ToolResultPart } from 'millrace'
import { agent, millrace } from 'millrace'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { McpOptions } from '../mcp.ts'
import { connected, kitServer } from './kit.test-kit.ts'

// What servers ask people and models in the middle of a call, in both versions of the protocol.

const everything = {
  command: process.execPath,
  args: [
    fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')),
    'stdio',
  ],
}

const newServer = async () => {
  const server = await kitServer('new-http')
  onTestFinished(server.stop)
  return server.options
}

/** An agent that calls one tool of a server, in a thread. */
async function calling(options: McpOptions, tool: string, input: JsonObject = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-asks-'))
  const file = join(folder, 'threads.db')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const model = scriptedModel(({ messages, tools }) => {
    const last = messages.at(-1)
    // A server that asks the model.
    if (tools.length === 0) return `The model says: ${JSON.stringify(last?.content)}`
    return last?.role === 'tool' ? 'Done.' : [{ call: tool, input, id: 'call_1' }]
  })
  const open = async () => {
    const box = await connected(options)
    const store = sqliteStore(file)
    const app = millrace({ agents: agent({ model, tools: [box] }), store, flushMs: 0 })
    const close = async () => {
      await app.close({ graceMs: 0 })
      await store.close()
      await box.close()
    }
    onTestFinished(close)
    return { thread: app.thread('t1'), close }
  }
  const { thread, close } = await open()
  await thread.send('Go.')
  return {
    thread,
    /** As if by another process. */
    async reopen() {
      await close()
      return (await open()).thread
    },
  }
}

async function asked(thread: Thread) {
  for await (const _ of thread.follow({ until: 'idle' }));
  return (await thread.state()).approvals
}

/** Decides about what waits, and returns the result of the call. */
async function decided(thread: Thread, answer: ApprovalAnswer): Promise<string> {
  for (const { callId } of (await thread.state()).approvals) await thread.approve(callId, answer)
  return resultOf(thread)
}

async function resultOf(thread: Thread): Promise<string> {
  for await (const _ of thread.follow({ until: 'idle' }));
  const events = (await thread.read()).map(({ event }) => event)
  const result = events.find((event) => event.type === 'tool-result')
  return (result?.type === 'tool-result' ? result.output : []).map(textOf).join('\n')
}

const textOf = (part: ToolResultPart) => (part.type === 'text' ? part.text : JSON.stringify(part))

describe('a server that asks while the call is open (2025-11-25)', () => {
  test('gets what the person filled in', async () => {
    const { thread } = await calling(everything, 'trigger-elicitation-request')
    const [request] = await asked(thread)
    expect(request).toMatchObject({
      callId: 'call_1/ask_1',
      name: 'trigger-elicitation-request',
      input: { name: null, firstLine: 'It was a dark and stormy night.' },
    })
    expect(request?.reason).toContain("The MCP server 'mcp-servers/everything' asks: Please provide inputs")
    expect(request?.reason).toContain('name (string, required')
    const input = { name: 'Ada', check: true, integer: 7 }
    expect(await decided(thread, { approved: true, input })).toMatch(/"name": "Ada"/)
  })

  test('is not given what does not fit its form: the person is asked again', async () => {
    const { thread } = await calling(everything, 'trigger-elicitation-request')
    const [first] = await asked(thread)
    await thread.approve(first?.callId ?? '', { approved: true, input: { name: 'Ada', integer: 'many' } })
    const [second] = await asked(thread)
    expect(second?.callId).toBe('call_1/ask_2')
    expect(second?.reason).toMatch(/the last answer was not accepted: .*integer/)
    expect(await decided(thread, { approved: true, input: { name: 'Ada' } })).toMatch(/"name": "Ada"/)
  })

  test('learns that the person denied it', async () => {
    const { thread } = await calling(everything, 'trigger-elicitation-request')
    await asked(thread)
    expect(await decided(thread, { approved: false })).toMatch(/declin/)
  })

  test('can send the person to an address', async () => {
    const { thread } = await calling(everything, 'trigger-url-elicitation', {
      url: 'https://example.com/login',
      message: 'Sign in first',
    })
    const [request] = await asked(thread)
    expect(request).toMatchObject({ input: { url: 'https://example.com/login' } })
    expect(request?.reason).toMatch(/Sign in first Open https:\/\/example.com\/login and approve/)
    expect(await decided(thread, { approved: true })).toMatch(/accept/)
  })

  test('gets an answer of the model if it may, which counts as usage of a sub-agent', async () => {
    const { thread } = await calling({ ...everything, sampling: true }, 'trigger-sampling-request', {
      prompt: 'Say hi',
      maxTokens: 20,
    })
    expect(await resultOf(thread)).toMatch(/The model says: .*Say hi/)
    const nested = (await thread.read()).flatMap(({ event }) =>
      event.type === 'tool-progress' && event.event?.type === 'round-end' ? [event.event] : [],
    )
    expect(nested).toHaveLength(1)
  })

  test('is not offered the model otherwise', async () => {
    const box = await connected(everything)
    expect(box.tools.map(({ name }) => name)).not.toContain('trigger-sampling-request')
    const without = await connected({ ...everything, elicitation: false })
    expect(without.tools.map(({ name }) => name)).not.toContain('trigger-elicitation-request')
  })

  test('can do so in a task', async () => {
    const { thread } = await calling(everything, 'simulate-research-query', {
      topic: 'python',
      ambiguous: true,
    })
    const [request] = await asked(thread)
    expect(request?.reason).toMatch(/The research query "python" could have multiple interpretations/)
    const input = { interpretation: 'programming' }
    expect(await decided(thread, { approved: true, input })).toMatch(
      /Research Report: python \(programming\)/,
    )
  })

  test('loses its question with the process, and the model is informed', async () => {
    const { thread, reopen } = await calling(everything, 'trigger-elicitation-request')
    const [request] = await asked(thread)
    const next = await reopen()
    await next.approve(request?.callId ?? '', { approved: true, input: { name: 'Ada' } })
    expect(await resultOf(next)).toMatch(/the connection was lost before the answer/)
  })
})

describe('a server that asks by its answer (2026-07-28)', () => {
  test.each([
    ['accept', { approved: true, input: { sure: true } }, '{"sure":true}'],
    ['decline', { approved: false }, 'null'],
  ])('learns of %s', async (action, answer, content) => {
    const { thread } = await calling(await newServer(), 'deploy')
    const [request] = await asked(thread)
    expect(request).toMatchObject({ callId: 'call_1/ask_1', input: { sure: null } })
    expect(await decided(thread, answer)).toBe(`${action}: ${content}`)
  })

  test('gets the answer from another process', async () => {
    const { thread, reopen } = await calling(await newServer(), 'deploy')
    const [request] = await asked(thread)
    const next = await reopen()
    await next.approve(request?.callId ?? '', { approved: true, input: { sure: false } })
    expect(await resultOf(next)).toBe('accept: {"sure":false}')
  })

  test('may ask two people and a model at once', async () => {
    const { thread } = await calling({ ...(await newServer()), sampling: { maxRequests: 1 } }, 'survey')
    const requests = await asked(thread)
    expect(requests.map(({ callId }) => callId)).toEqual(['call_1/ask_1', 'call_1/ask_2'])
    await thread.approve('call_1/ask_2', { approved: true, input: { answer: 'two' } })
    expect(await asked(thread)).toMatchObject([{ callId: 'call_1/ask_1' }])
    const result = await decided(thread, { approved: true, input: { answer: 'one' } })
    expect(result).toMatch(/one and two.*The model says/)
  })

  test('is denied more answers of the model than allowed', async () => {
    const { thread } = await calling({ ...(await newServer()), sampling: { maxRequests: 1 } }, 'chatter')
    expect(await resultOf(thread)).toMatch(/a call may ask the model at most 1 times/)
  })
})

test('a task that shows its question until it has read the answer asks once', async () => {
  const updates: unknown[] = []
  let reads = 0
  const inputRequests = {
    nights: {
      method: 'elicitation/create',
      params: { message: 'How many?', requestedSchema: { type: 'object', properties: {} } },
    },
  }
  const state = () => {
    if (updates.length === 0 || ++reads < 3) return { status: 'input_required', inputRequests }
    return { status: 'completed', result: { content: [{ type: 'text', text: 'Booked.' }] } }
  }
  const task = { taskId: 'one', pollIntervalMs: 50, createdAt: '', lastUpdatedAt: '', ttlMs: null }
  const answers: Record<string, (params: JsonObject) => object> = {
    'server/discover': () => ({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'hotel', version: '1' } },
    }),
    'tools/list': () => ({ tools: [{ name: 'book', inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ ...task, resultType: 'task', status: 'working' }),
    'tasks/get': () => ({ ...task, ...state() }),
    'tasks/update': ({ inputResponses }) => {
      updates.push(inputResponses)
      return {}
    },
  }
  const { thread } = await calling(
    {
      url: 'http://hotel.test/mcp',
      async fetch(_, init) {
        const { id, method, params } = JSON.parse(String(init?.body))
        if (id === undefined) return new Response(null, { status: 202 })
        const result = {
          resultType: 'complete',
          ttlMs: 0,
          cacheScope: 'private',
          ...answers[method]?.(params),
        }
        return Response.json({ jsonrpc: '2.0', id, result })
      },
    },
    'book',
  )
  await asked(thread)
  expect(await decided(thread, { approved: true })).toBe('Booked.')
  expect(updates).toEqual([{ nights: { action: 'accept', content: {} } }])
  expect(reads).toBe(3)
})
