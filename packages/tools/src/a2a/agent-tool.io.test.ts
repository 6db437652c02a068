import { TaskState } from '@a2a-js/sdk'
import type { App, Tool } from 'millrace'
import { agent, memoryStore, millrace } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { applyEntry, createView, roundText } from 'millrace/view'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  asker,
  muser,
  story,
  storyteller,
  until,
} from '../../../millrace/src/protocols/protocols.test-kit.ts'
import { byToken } from '../../../millrace/src/server/server.test-kit.ts'
import { serving } from '../a2a-server/a2a.test-kit.ts'
import { clerk } from '../mcp-server/serving.test-kit.ts'
import type { A2aAgentOptions } from './agent-tool.ts'
import { a2aAgent } from './agent-tool.ts'
import { sdkServer } from './sdk-server.test-kit.ts'

/** An app whose agent passes each message on to a remote agent, and repeats its answer. */
function caller(tool: Tool, store = memoryStore()): App {
  const boss = agent({
    name: 'boss',
    tools: [tool],
    model: scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'tool') return [{ call: tool.name, input: { prompt: String(last?.content) } }]
      return `It said: ${last.content.map((part) => (part.type === 'text' ? part.text : part.type)).join()}`
    }),
  })
  const app = millrace({ agents: boss, store, flushMs: 0, leaseMs: 500, recoverMs: 20, onError: () => {} })
  onTestFinished(() => app.close({ graceMs: 0 }))
  return app
}

async function answerIn(app: App, words: string, id?: string) {
  const thread = app.thread(id)
  const seq = await thread.send(words)
  const view = createView()
  for await (const entry of thread.follow({ until: seq })) applyEntry(view, entry)
  const run = view.runs.at(-1)
  return { thread, view, text: run?.rounds.map(roundText).join('') ?? '', call: run?.calls.at(-1) }
}

const a2aAt = async (url: string, options?: A2aAgentOptions) => caller(await a2aAgent(url, options))

describe('an agent of our own server', () => {
  test('its answer is the result, and its text is shown as that of a sub-agent', async () => {
    const { url } = await serving(clerk())
    const app = await a2aAt(url)
    const { thread, text, call } = await answerIn(app, 'Where is ORD-42?')
    expect(text).toBe('It said: Let me look. Answer 1: it is shipped.')
    const [inner] = call?.inner?.runs ?? []
    expect(inner).toMatchObject({ agent: 'clerk', outcome: 'completed' })
    expect(inner?.rounds.map(roundText)).toEqual(['Let me look. Answer 1: it is shipped.'])
    // The conversation continues.
    const second = await answerIn(app, 'And now?', thread.id)
    expect(second.text).toBe('It said: Let me look. Answer 2: it is shipped.')
  })

  test('what it asks for is asked of our user, and the decision continues its task', async () => {
    const remote = await serving(asker())
    const app = await a2aAt(remote.url)
    const { thread } = await answerIn(app, 'Cut it')
    const { approvals } = await thread.state()
    expect(approvals).toMatchObject([{ name: 'cut_rope', input: { where: 'here' } }])
    const seq = await thread.approve(approvals[0]?.callId ?? '', { approved: true })
    const view = createView()
    for await (const entry of thread.follow({ until: 'idle' })) applyEntry(view, entry)
    expect(seq).toBeGreaterThan(0)
    expect(view.runs.at(-1)?.rounds.map(roundText).join('')).toBe('It said: It is cut.')
    const { threads } = await remote.app.threads()
    expect(threads).toMatchObject([{ status: 'idle', outcome: 'completed' }])
  })

  test('canceling our run cancels its task', async () => {
    const remote = await serving(muser())
    const app = await a2aAt(remote.url)
    const thread = app.thread()
    await thread.send('Think')
    await until(async () => (await remote.app.threads()).threads[0]?.status === 'running')
    await until(async () => (await thread.read()).some(({ event }) => event.type === 'tool-progress'))
    await thread.stop()
    await until(async () => (await remote.app.threads()).threads[0]?.outcome === 'canceled')
  })

  test('a stream that is cut is continued, and the message is sent once', async () => {
    const remote = await serving(storyteller(story, { paceMs: 5 }))
    let cuts = 0
    const cutting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (init?.method !== 'POST' || cuts++ > 1) return response
      const first = await response.body?.getReader().read()
      return new Response(first?.value, { headers: response.headers })
    }
    const app = await a2aAt(remote.url, { fetch: cutting })
    const { text, call } = await answerIn(app, 'Tell')
    expect(text).toBe(`It said: ${story}`)
    expect(cuts).toBeGreaterThan(2)
    expect(call?.inner?.runs[0]?.rounds.filter(({ retracted }) => !retracted).map(roundText)).toEqual([story])
    const { threads } = await remote.app.threads()
    expect(threads).toHaveLength(1)
  })

  test('a decision that is lost on its way is sent again', async () => {
    const remote = await serving(asker())
    let lost = 0
    const losing: typeof fetch = async (input, init) => {
      if (!String(init?.body).includes('"approved"') || lost++ > 0) return fetch(input, init)
      throw new TypeError('the network failed')
    }
    const app = await a2aAt(remote.url, { fetch: losing })
    const { thread } = await answerIn(app, 'Cut it')
    const { approvals } = await thread.state()
    await thread.approve(approvals[0]?.callId ?? '', { approved: false, reason: 'too short' })
    await until(async () => (await thread.state()).status === 'idle')
    expect(lost).toBe(2)
    const [{ id = '' } = {}] = (await remote.app.threads()).threads
    expect(JSON.stringify(await remote.app.thread(id).read())).toContain('too short')
  })

  test('another process continues with the same task', async () => {
    const remote = await serving(storyteller(story, { paceMs: 10 }))
    const tool = await a2aAgent(remote.url)
    const store = memoryStore()
    const first = caller(tool, store)
    const thread = first.thread()
    await thread.send('Tell')
    await until(
      async () => (await thread.read()).filter(({ event }) => event.type === 'tool-progress').length > 4,
    )
    await first.close({ graceMs: 0 })
    const second = caller(tool, store)
    const view = createView()
    for await (const entry of second.thread(thread.id).follow({ until: 'idle' })) applyEntry(view, entry)
    const run = view.runs.at(-1)
    expect(run?.rounds.map(roundText).join('')).toBe(`It said: ${story}`)
    expect((await remote.app.threads()).threads).toMatchObject([{ outcome: 'completed' }])
  })

  test('headers are sent with every request', async () => {
    const { url } = await serving(clerk(), {}, { auth: byToken })
    const ignored = await answerIn(await a2aAt(url), 'Where is ORD-42?')
    expect(ignored.text).toMatch(/could not be asked: status 401: authentication required/)
    const allowed = await a2aAt(url, { headers: async () => ({ authorization: 'Bearer ada' }) })
    expect((await answerIn(allowed, 'Where is ORD-42?')).text).toContain('Answer 1')
  })
})

describe('an agent of the official SDK', () => {
  test('its name and skills describe the tool', async () => {
    const { url } = await sdkServer(async () => {})
    const tool = await a2aAgent(url)
    expect(tool.name).toBe('Travel_desk')
    expect(tool.description).toContain('Plans trips\nIt can:\n- Plan: Plans a trip')
  })

  test.each([true, false])('its artifact is the result (streaming: %s)', async (streaming) => {
    const { url, words } = await sdkServer(
      async (_, remote) => {
        remote.start()
        remote.write('Rome ', false)
        remote.write('and Oslo', true)
        remote.end(TaskState.TASK_STATE_COMPLETED)
      },
      { streaming },
    )
    expect((await answerIn(await a2aAt(url), 'Where to?')).text).toBe('It said: Rome and Oslo')
    expect(words).toEqual(['Where to?'])
  })

  test('an answer without a task is the result', async () => {
    const { url } = await sdkServer(async (_, remote) => remote.reply('Rome'))
    expect((await answerIn(await a2aAt(url), 'Where to?')).text).toBe('It said: Rome')
  })

  test('a question is for the model, whose reply continues the task', async () => {
    const { url, words } = await sdkServer(async (said, remote) => {
      remote.start()
      if (said === 'Where to?') return remote.end(TaskState.TASK_STATE_INPUT_REQUIRED, 'From where?')
      remote.write(`From ${said} to Oslo`, false)
      remote.end(TaskState.TASK_STATE_COMPLETED)
    })
    const app = await a2aAt(url)
    const { thread, text } = await answerIn(app, 'Where to?')
    expect(text).toContain('needs more information to continue. Reply with this tool.\nFrom where?')
    expect((await answerIn(app, 'Rome', thread.id)).text).toBe('It said: From Rome to Oslo')
    expect(words).toEqual(['Where to?', 'Rome'])
  })

  test.each([
    [TaskState.TASK_STATE_FAILED, 'failed: no trains'],
    [TaskState.TASK_STATE_REJECTED, 'rejected the task: no trains'],
    [TaskState.TASK_STATE_AUTH_REQUIRED, 'needs credentials'],
  ])('state %s is an error for the model', async (state, expected) => {
    const { url } = await sdkServer(async (_, remote) => {
      remote.start()
      remote.end(state, 'no trains')
    })
    const { text, call } = await answerIn(await a2aAt(url), 'Where to?')
    expect(text).toContain(expected)
    expect(call?.state).toBe('failed')
  })

  test('a long task of an agent that does not stream is polled', async () => {
    let polls = 0
    const counting: typeof fetch = (input, init) => {
      if (String(init?.body).includes('GetTask')) polls++
      return fetch(input, init)
    }
    const { url, words } = await sdkServer(
      async (_, remote) => {
        remote.start()
        await until(() => polls > 1)
        remote.write('Rome', false)
        remote.end(TaskState.TASK_STATE_COMPLETED)
      },
      { streaming: false },
    )
    expect((await answerIn(await a2aAt(url, { fetch: counting }), 'Where to?')).text).toBe('It said: Rome')
    expect(words).toEqual(['Where to?'])
  })

  test('canceling our run cancels its task', async () => {
    const { url, canceled } = await sdkServer(async (_, remote) => {
      remote.start()
      await new Promise(() => {})
    })
    const app = await a2aAt(url)
    const thread = app.thread()
    await thread.send('Where to?')
    await until(async () => (await thread.read()).some(({ event }) => event.type === 'tool-progress'))
    await thread.stop()
    await until(() => canceled.length === 1)
  })
})

describe('a card that cannot be used is rejected', () => {
  test.each([
    [{ supportedInterfaces: undefined }, 'only version 1.0 of A2A is supported'],
    [
      { supportedInterfaces: [{ url: 'http://x.invalid', protocolBinding: 'GRPC', protocolVersion: '1.0' }] },
      'no JSONRPC interface',
    ],
    [
      {
        supportedInterfaces: [
          { url: 'http://x.invalid/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        ],
      },
      "its interface is at another origin, http://x.invalid: if you trust that one, pass the option endpoint: 'http://x.invalid/'",
    ],
    [{ name: '' }, 'it has no name'],
  ])('%j', async (fields, expected) => {
    const { url } = await sdkServer(async () => {}, { fields })
    await expect(a2aAgent(url)).rejects.toThrow(expected)
  })

  test('and so are an invalid address and unknown options', async () => {
    await expect(a2aAgent('localhost')).rejects.toThrow('must be a URL')
    await expect(a2aAgent('http://x.invalid', { header: {} } as never)).rejects.toThrow(
      "did you mean 'headers'?",
    )
  })
})
