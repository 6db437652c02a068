import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls, type UIMessage } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { readUIMessages } from '../view/index.ts'
import {
  callEcho,
  connectionReset,
  echo,
  failOnUnhandledRejections,
  refundOnApproval,
} from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { Run } from './run.ts'

failOnUnhandledRejections()

type Handler = (body: unknown, signal: AbortSignal) => Response

/** What `useChat` uses, with a route handler in place of the network. */
function chatWith(handle: Handler, options: Partial<ConstructorParameters<typeof Chat>[0]> = {}) {
  const transport = new DefaultChatTransport({
    fetch: async (...args) => {
      const request = new Request(new URL(String(args[0]), 'http://localhost'), args[1])
      return handle(await request.json(), request.signal)
    },
  })
  return new Chat({ transport, ...options })
}

const parts = ({ messages }: { readonly messages: UIMessage[] }) =>
  messages.map(({ role, parts }) => [role, ...parts.map(brief)])

function brief(part: UIMessage['parts'][number]): unknown {
  if (part.type === 'text') return part.text
  if (part.type === 'dynamic-tool') return [part.toolName, part.state, part.output ?? part.errorText]
  return part.type
}

test('useChat shows the answer with its tools, and the next request contains them', async () => {
  const rounds = [callEcho('x'), 'Found x.']
  const model = scriptedModel(({ messages }) => rounds.shift() ?? `I read ${messages.length}.`)
  const finder = agent({ model, tools: [echo] })
  const chat = chatWith((body) => finder.stream(readUIMessages(body).messages).toUIMessageResponse())
  await chat.sendMessage({ text: 'find x' })
  expect(parts(chat)).toEqual([
    ['user', 'find x'],
    ['assistant', 'step-start', ['echo', 'output-available', 'x'], 'step-start', 'Found x.'],
  ])
  await chat.sendMessage({ text: 'And now?' })
  expect(parts(chat).at(-1)).toEqual(['assistant', 'step-start', 'I read 5.'])
  expect(chat.status).toBe('ready')
  expect(new Set(chat.messages.map(({ id }) => id)).size).toBe(4)
})

test('a tool without run is run by the client, whose result continues the same message', async () => {
  const where = tool({ name: 'where', description: 'Where the user is', input: z.object({}) })
  const model = scriptedModel([[{ call: 'where', input: {} }], 'You are in Oslo.'])
  const guide = agent({ model, tools: [where] })
  const chat = chatWith((body) => guide.stream(readUIMessages(body).messages).toUIMessageResponse(), {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall: { toolCallId, toolName } }) =>
      void chat.addToolOutput({ tool: toolName, toolCallId, output: 'Oslo' }),
    onFinish: ({ messages }) => {
      if (messages.at(-1)?.parts.at(-1)?.type === 'text') answered.resolve()
    },
  })
  const answered = Promise.withResolvers<void>()
  await chat.sendMessage({ text: 'Where am I?' })
  await answered.promise
  expect(parts(chat)).toEqual([
    ['user', 'Where am I?'],
    ['assistant', 'step-start', ['where', 'output-available', 'Oslo'], 'step-start', 'You are in Oslo.'],
  ])
})

test('the tools that a client sends along can be added to the run', async () => {
  const model = scriptedModel(({ tools }) => `I have ${tools.map(({ name }) => name)}.`)
  const guide = agent({ model, tools: [echo] })
  const chat = chatWith((body) => {
    const { messages, tools } = readUIMessages(body)
    const more = tools.map(({ inputSchema, ...spec }) =>
      tool({ ...spec, input: { jsonSchema: inputSchema } }),
    )
    return guide.stream(messages, { tools: more }).toUIMessageResponse()
  })
  const where = { description: 'Where the user is', parameters: { type: 'object', properties: {} } }
  await chat.sendMessage({ text: 'What can you do?' }, { body: { tools: { where } } })
  expect(chat.error).toBeUndefined()
  expect(parts(chat).at(-1)).toEqual(['assistant', 'step-start', 'I have echo,where.'])
})

test('a resumed run continues the message of the run before it', async () => {
  const model = scriptedModel([[{ call: 'refund', input: { amount: 5 } }], 'Refunded.'])
  const clerk = agent({ model, tools: [refundOnApproval] })
  let run: Run | undefined
  const chat = chatWith((body) => {
    run = run ? run.resume({ callId: 'call_1', approved: true }) : clerk.stream(readUIMessages(body).messages)
    return run.toUIMessageResponse()
  })
  await chat.sendMessage({ text: 'Refund 5.' })
  expect(parts(chat).at(-1)).toEqual(['assistant', 'step-start', ['refund', 'approval-requested', undefined]])
  const before = chat.lastMessage?.id
  await chat.addToolApprovalResponse({ id: 'call_1', approved: true })
  await chat.sendMessage()
  expect(parts(chat)).toEqual([
    ['user', 'Refund 5.'],
    ['assistant', 'step-start', ['refund', 'output-available', 'refunded 5'], 'step-start', 'Refunded.'],
  ])
  expect(chat.lastMessage?.id).toBe(before)
})

test('stop() cancels the run', async () => {
  const poet = agent({ model: scriptedModel(script.hanging('Once ')) })
  let run: Run | undefined
  const chat = chatWith((body, signal) => {
    run = poet.stream(readUIMessages(body).messages, { signal })
    return run.toUIMessageResponse()
  })
  const sent = chat.sendMessage({ text: 'Tell me a story.' })
  await expect.poll(() => parts(chat).at(-1)).toContain('Once ')
  await chat.stop()
  await sent
  expect((await run?.result)?.outcome).toBe('canceled')
})

test('a run that fails is an error of the chat', async () => {
  const model = scriptedModel(script.failing(connectionReset, 'Once '))
  const poet = agent({ model, retry: { attempts: 1 } })
  const chat = chatWith((body) => poet.stream(readUIMessages(body).messages).toUIMessageResponse())
  await chat.sendMessage({ text: 'Tell me a story.' })
  expect(chat.status).toBe('error')
  expect(chat.error?.message).toContain('connection reset')
})
