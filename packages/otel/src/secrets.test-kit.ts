import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOpenAI } from '@ai-sdk/openai'
import type { AgentOptions, Model, Telemetry } from 'millrace'
import { agent, memoryStore, millrace, summarize, tool, toolContent } from 'millrace'
import { fromAISDK } from 'millrace/ai-sdk'
import { anthropic } from 'millrace/anthropic'
import { openai, openaiChat } from 'millrace/openai'
import type { ScriptRound } from 'millrace/testing'
import { script, scriptedModel } from 'millrace/testing'
import { z } from 'zod'
import type { InputUserMessage } from '../../millrace/src/protocol/index.ts'

// Conversations whose content is all marked, for every way that a run can go. A mark is one word,
// so that it is found however it is quoted.

export const mark = (what: string) => `MARKED${what}MARKED`
export const marks = /MARKED\w+?MARKED/g

/** Does not match any known pattern of keys. */
export const key = 'Qq7kEYthatNobodyMaySee9zz'

export interface Scenario {
  readonly name: string
  run(telemetry: readonly Telemetry[]): Promise<unknown>
  /** Where the marks appear with content: true: by attribute, or `status`. */
  readonly shown: Readonly<Record<string, readonly string[]>>
}

const retry = { baseMs: 0, attempts: 2 }
const system = mark('system')
const prompt = mark('prompt')
const settings = { headers: { 'x-about': mark('header') } }
const inputMarks = { 'gen_ai.input.messages': ['prompt'], 'gen_ai.system_instructions': ['system'] }

const look = tool({
  name: 'look',
  description: 'Looks',
  input: z.object({ at: z.string() }),
  run: (_, { progress }) => {
    progress({ seen: mark('progress') })
    return { found: mark('result') }
  },
})
const breaks = tool({
  name: 'breaks',
  description: 'Breaks',
  input: z.object({ at: z.string() }),
  run() {
    throw new Error(mark('thrown'), { cause: new Error(mark('cause')) })
  },
})
const shows = tool({
  name: 'shows',
  description: 'Shows',
  input: z.object({}),
  run: () => toolContent([{ type: 'image', data: btoa(mark('bytes')), mediaType: 'image/png' }]),
})
const wipe = tool({
  name: 'wipe',
  description: 'Wipes',
  input: z.object({ at: z.string() }),
  approve: () => mark('approval'),
  run: () => mark('wiped'),
})
const at = { at: mark('argument') }
const opaque = { provider: 'scripted', data: mark('opaque') }

function desk(
  rounds: readonly ScriptRound[],
  telemetry: readonly Telemetry[],
  options: Partial<AgentOptions<unknown, undefined>> = {},
) {
  return agent({
    name: 'desk',
    model: scriptedModel(rounds, { deltaChars: 100 }),
    system,
    tools: [look, breaks, shows, wipe],
    settings,
    retry,
    telemetry,
    ...options,
  })
}

/** A provider that answers every request with an error that quotes all of it, including the key. */
async function echoingProvider() {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const message = `bad: ${request.headers.authorization ?? request.headers['x-api-key']} ${body}`
    response
      .writeHead(500, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message } }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, close: () => new Promise((closed) => server.close(closed)) }
}

const echoed =
  (make: (url: string) => Model): Scenario['run'] =>
  async (telemetry) => {
    const provider = await echoingProvider()
    await desk([], telemetry, { model: make(provider.url), tools: [] }).stream(prompt).result
    await provider.close()
  }

const failed = { ...inputMarks, status: ['prompt'] }

const talk = [
  { role: 'user', content: mark('before') },
  { role: 'assistant', content: [{ type: 'text', text: mark('answered') }] },
  { role: 'user', content: prompt },
] as const

const pictures: InputUserMessage = {
  role: 'user',
  content: [
    { type: 'text', text: prompt },
    { type: 'image', url: `https://example.org/${mark('url')}` },
    { type: 'image', url: `data:image/png;base64,${mark('bytes')}` },
    { type: 'image', data: btoa(mark('bytes')), mediaType: 'image/png' },
    { type: 'file', data: btoa(mark('bytes')), mediaType: 'application/pdf', name: mark('file') },
  ],
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'a run that succeeds',
    run: (telemetry) =>
      desk(
        [
          [
            { reasoning: mark('thought'), opaque },
            { text: mark('said') },
            { call: 'look', input: at },
            { call: 'shows' },
          ],
          [
            { providerTool: 'search', input: mark('query'), output: mark('hits'), opaque },
            { text: mark('answer') },
          ],
        ],
        telemetry,
      ).stream(pictures, { context: { secret: mark('context') } }).result,
    shown: {
      ...inputMarks,
      'gen_ai.input.messages': ['prompt', 'url', 'said', 'argument', 'result'],
      'gen_ai.output.messages': ['thought', 'said', 'argument', 'query', 'hits', 'answer'],
      'gen_ai.tool.call.arguments': ['argument'],
      'gen_ai.tool.call.result': ['result'],
    },
  },
  {
    name: 'Chat Completions that fail',
    run: echoed((url) => openaiChat('gpt', { baseURL: url, apiKey: key })),
    shown: failed,
  },
  {
    name: 'Responses that fail',
    run: echoed((url) => openai('gpt', { baseURL: url, apiKey: key })),
    shown: failed,
  },
  {
    name: 'Messages that fail',
    run: echoed((url) => anthropic('claude', { baseURL: url, apiKey: key })),
    shown: failed,
  },
  {
    name: 'an AI SDK model that fails',
    run: echoed((url) => fromAISDK(createOpenAI({ baseURL: url, apiKey: key }).chat('gpt'))),
    shown: failed,
  },
  {
    name: 'a round that is retracted and generated again',
    run: (telemetry) =>
      desk(
        [
          [{ text: mark('retracted') }, { error: { code: 'overloaded', message: mark('broke') } }],
          mark('answer'),
        ],
        telemetry,
      ).stream(prompt).result,
    shown: { ...inputMarks, 'gen_ai.output.messages': ['retracted', 'answer'], status: ['broke'] },
  },
  {
    name: 'calls that fail',
    run: (telemetry) =>
      desk(
        [
          [
            { call: 'breaks', input: at },
            { call: 'look', input: { at: 7, more: mark('wrong') } },
            { call: 'look', raw: `{"at": ${mark('raw')}` },
            { call: 'nothing', input: at },
            { call: 'wipe', input: at },
          ],
          mark('answer'),
        ],
        telemetry,
        { beforeCall: ({ name }) => (name === 'wipe' ? { block: mark('blocked') } : undefined) },
      ).stream(prompt).result,
    shown: {
      'gen_ai.tool.call.arguments': ['argument', 'wrong', 'raw'],
      'gen_ai.tool.call.result': ['thrown', 'blocked'],
      status: ['thrown'],
    },
  },
  {
    name: 'a call that ends the run',
    run: (telemetry) =>
      desk([[{ call: 'breaks', input: at }]], telemetry, { onToolError: 'fail' }).stream(prompt).result,
    shown: { status: ['thrown'] },
  },
  {
    name: 'a hook that throws',
    run: (telemetry) =>
      desk([mark('answer')], telemetry, {
        prepareRound() {
          throw new Error(mark('thrown'))
        },
      }).stream(prompt).result,
    shown: { status: ['thrown'] },
  },
  {
    name: 'answers that do not match their schema',
    run: (telemetry) =>
      agent({
        model: scriptedModel(() => JSON.stringify({ [mark('field')]: mark('answer') })),
        system,
        output: z.object({ size: z.number().describe(mark('schema')) }),
        maxCorrections: 1,
        telemetry,
      }).stream(prompt).result,
    shown: { ...inputMarks, 'gen_ai.output.messages': ['field', 'answer'] },
  },
  {
    name: 'a run that is canceled',
    async run(telemetry) {
      const run = desk(script.hanging(mark('said')), telemetry).stream(prompt)
      for await (const { type } of run) if (type === 'text') run.cancel(mark('enough'))
    },
    shown: { ...inputMarks, 'gen_ai.output.messages': ['said'] },
  },
  {
    name: 'a suspended run whose call is denied',
    async run(telemetry) {
      const run = desk([[{ call: 'wipe', input: at, id: 'c' }], mark('answer')], telemetry).stream(prompt)
      await run.result
      await run.resume([{ callId: 'c', approved: false, reason: mark('reason') }]).result
    },
    shown: { 'gen_ai.output.messages': ['argument', 'answer'], 'gen_ai.tool.call.result': ['reason'] },
  },
  {
    name: 'a suspended run whose call is approved with other input',
    async run(telemetry) {
      const run = desk([[{ call: 'wipe', input: at, id: 'c' }], mark('answer')], telemetry).stream(prompt)
      await run.result
      await run.resume([{ callId: 'c', approved: true, input: { at: mark('instead') } }]).result
    },
    shown: { 'gen_ai.tool.call.arguments': ['instead'], 'gen_ai.tool.call.result': ['wiped'] },
  },
  {
    name: 'a sub-agent',
    run(telemetry) {
      const inner = agent({
        name: 'inner',
        model: scriptedModel([mark('inner')]),
        system: mark('innersystem'),
      })
      const helper = inner.asTool({ description: 'Helps' })
      const rounds = [[{ call: 'inner', input: { prompt: mark('task') } }], mark('answer')]
      return desk(rounds, telemetry, { tools: [helper] }).stream(prompt).result
    },
    shown: {
      'gen_ai.input.messages': ['task'],
      'gen_ai.system_instructions': ['innersystem'],
      'gen_ai.output.messages': ['inner', 'answer'],
      'gen_ai.tool.call.result': ['inner'],
    },
  },
  {
    name: 'a summary',
    run: (telemetry) =>
      desk(
        [
          [{ error: { code: 'context_overflow', message: mark('toolong') } }],
          [{ error: { code: 'overloaded', message: mark('busy') } }],
          mark('summary'),
          mark('answer'),
        ],
        telemetry,
        { compact: summarize({ keepChars: 0 }) },
      ).stream(talk).result,
    shown: { 'gen_ai.input.messages': ['before', 'summary'], status: ['toolong', 'busy'] },
  },
  {
    name: 'a thread',
    async run(telemetry) {
      const app = millrace({
        agents: desk([[{ call: 'look', input: at }], mark('answer')], []),
        telemetry,
      })
      const thread = app.thread('t1', { metadata: { about: mark('metadata') } })
      await thread.send(prompt)
      for await (const { event } of thread.follow()) if (event.type === 'run-end') break
      await thread.stop(mark('stop'))
      await app.close()
    },
    shown: { ...inputMarks, 'gen_ai.output.messages': ['answer'], 'gen_ai.tool.call.result': ['result'] },
  },
  {
    name: 'a store that fails',
    async run(telemetry) {
      const store = memoryStore()
      const reported = Promise.withResolvers<unknown>()
      let isBroken = true
      const app = millrace({
        agents: desk([mark('answer')], []),
        store: {
          ...store,
          async append(batches) {
            if (isBroken) throw new Error(mark('store'))
            return store.append(batches)
          },
        },
        telemetry,
        onError: reported.resolve,
        leaseMs: 200,
      })
      await app.thread('t1').send(prompt)
      await reported.promise
      isBroken = false
      await app.close()
    },
    shown: {},
  },
]
