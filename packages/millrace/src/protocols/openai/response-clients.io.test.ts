import { createOpenAI } from '@ai-sdk/openai'
import { HumanMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { tool as agentsTool, Agent as OpenAIAgent, OpenAIResponsesModel, Runner } from '@openai/agents'
import { tool as aiTool, generateText, isStepCount, streamText } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openai as responsesModel } from '../../models/openai.ts'
import type { ModelEvent, ModelRequest } from '../../protocol/index.ts'
import { asker } from '../protocols.test-kit.ts'
import { serveModels } from './openai.test-kit.ts'
import { collect, worker } from './responses.test-kit.ts'

const of = z.object({ of: z.string() })

describe('OpenAI Agents', () => {
  async function run(stream: boolean) {
    const { agent, ran } = worker()
    const { client, app } = await serveModels(agent)
    const picked: string[] = []
    const pick = agentsTool({
      name: 'pick',
      description: 'Picks',
      parameters: of,
      execute({ of }) {
        picked.push(of)
        return 'three'
      },
    })
    const model = new OpenAIResponsesModel(client as never, 'worker')
    const miller = new OpenAIAgent({ name: 'Miller', instructions: 'Be brief.', model, tools: [pick] })
    const runner = new Runner({ tracingDisabled: true })
    if (!stream) return { result: await runner.run(miller, 'Work.'), app, picked, ran, text: '' }
    const result = await runner.run(miller, 'Work.', { stream: true })
    const text = (await collect(result.toTextStream())).join('')
    await result.completed
    return { result, app, picked, ran, text }
  }

  test.each([false, true])('run their tools, and the server its own: stream %s', async (stream) => {
    const { result, app, picked, ran, text } = await run(stream)
    expect(result.finalOutput).toBe('All of it is done.')
    expect(picked).toEqual(['sacks'])
    expect(ran.toSorted()).toEqual(['look', 'weigh'])
    if (stream) expect(text).toBe('Let me look at the wheel.All of it is done.')
    expect((await app.threads()).threads).toHaveLength(1)
  })
})

describe('the AI SDK', () => {
  async function providers() {
    const { agent, ran } = worker()
    const { baseURL, app } = await serveModels({ worker: agent, asker: asker() })
    const picked: string[] = []
    const pick = aiTool({
      inputSchema: of,
      execute({ of }) {
        picked.push(of)
        return 'three'
      },
    })
    const provider = createOpenAI({ baseURL, apiKey: 'none' })
    return { model: provider.responses('worker'), provider, app, tools: { pick }, picked, ran }
  }

  test('generates text with tools of both sides', async () => {
    const { model, app, tools, picked, ran } = await providers()
    const { text, steps, totalUsage } = await generateText({
      model,
      tools,
      prompt: 'Work.',
      stopWhen: isStepCount(4),
    })
    expect(text).toBe('All of it is done.')
    expect(steps).toHaveLength(2)
    expect(steps[0]?.reasoningText).toBe('First I look, then I weigh.')
    expect(picked).toEqual(['sacks'])
    expect(ran.toSorted()).toEqual(['look', 'weigh'])
    expect(totalUsage).toMatchObject({ inputTokens: 30, outputTokens: 12 })
    // It sends references to the items of the first step.
    expect((await app.threads()).threads).toHaveLength(1)
  })

  test('streams text with tools of both sides', async () => {
    const { model, app, tools, picked, ran } = await providers()
    const result = streamText({ model, tools, prompt: 'Work.', stopWhen: isStepCount(4) })
    const parts = await collect(result.fullStream)
    expect(parts.filter(({ type }) => type === 'error')).toEqual([])
    expect(await result.text).toBe('All of it is done.')
    expect(picked).toEqual(['sacks'])
    expect(ran.toSorted()).toEqual(['look', 'weigh'])
    const results = parts.flatMap((part) => (part.type === 'tool-result' ? [part.toolName] : []))
    expect(results.toSorted()).toEqual(['mcp.look', 'mcp.weigh', 'pick'])
    expect((await app.threads()).threads).toHaveLength(1)
  })

  test.each([true, false])('asks for approval: %s', async (approved) => {
    const { provider, app } = await providers()
    const model = provider.responses('asker')
    const prompt = { role: 'user', content: 'Cut it.' } as const
    const first = await generateText({ model, messages: [prompt] })
    const asked = first.content.find((part) => part.type === 'tool-approval-request')
    expect(asked?.toolCall).toMatchObject({ toolName: 'mcp.cut_rope', input: { where: 'here' } })
    const approvalId = asked?.approvalId ?? ''
    const decision = { type: 'tool-approval-response', approvalId, approved, providerExecuted: true } as const
    const messages = [prompt, ...first.response.messages, { role: 'tool' as const, content: [decision] }]
    const second = await generateText({ model, messages })
    expect(second.text).toBe('It is cut.')
    const result = second.content.find((part) => part.type === 'tool-result' || part.type === 'tool-error')
    expect(JSON.stringify(result)).toContain(approved ? '"output":"cut here"' : 'denied')
    const next = { role: 'user' as const, content: 'Again.' }
    await generateText({ model, messages: [...messages, ...second.response.messages, next] })
    expect((await app.threads()).threads).toHaveLength(1)
  })
})

describe('LangChain', () => {
  test.each([false, true])('calls tools of both sides: streaming %s', async (streaming) => {
    const { agent, ran } = worker()
    const { baseURL, app } = await serveModels(agent)
    const pick = langchainTool(({ of }) => `three ${of}`, { name: 'pick', description: 'Picks', schema: of })
    const model = new ChatOpenAI({
      model: 'worker',
      useResponsesApi: true,
      streaming,
      apiKey: 'none',
      maxRetries: 0,
      configuration: { baseURL },
    }).bindTools([pick])
    const first = await model.invoke([new HumanMessage('Work.')])
    expect(first.text).toBe('Let me look at the wheel.')
    expect(first.tool_calls).toMatchObject([{ name: 'pick', args: { of: 'sacks' }, id: 'call_c' }])
    expect(first.usage_metadata).toMatchObject({ input_tokens: 10, output_tokens: 5 })
    const [call] = first.tool_calls ?? []
    const result = await pick.invoke({ ...call, type: 'tool_call' } as never)
    const second = await model.invoke([new HumanMessage('Work.'), first, result as never])
    expect(second.text).toBe('All of it is done.')
    expect(ran.toSorted()).toEqual(['look', 'weigh'])
    expect((await app.threads()).threads).toHaveLength(1)
  })
})

describe('our own model', () => {
  const inputSchema = { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] }
  const request: ModelRequest = {
    messages: [{ role: 'user', content: 'Work.' }],
    tools: [{ name: 'pick', description: 'Picks', inputSchema }],
    toolChoice: 'auto',
    settings: {},
  }

  function shown(events: readonly ModelEvent[]) {
    const join = (type: 'text' | 'reasoning') =>
      events.map((event) => (event.type === type ? event.text : '')).join('')
    const done = events.at(-1)
    return {
      text: join('text'),
      reasoning: join('reasoning'),
      calls: events.filter(({ type }) => type === 'tool-call'),
      results: events.flatMap((event) =>
        event.type === 'provider-tool' && event.output !== undefined ? [[event.name, event.output]] : [],
      ),
      done: done?.type === 'done' ? { finish: done.finish, usage: done.usage } : done,
    }
  }

  const all = {
    text: 'Let me look at the wheel.',
    reasoning: 'First I look, then I weigh.',
    calls: [{ type: 'tool-call', callId: 'call_c', name: 'pick', input: { of: 'sacks' } }],
    results: [
      ['look', 'look at wheel'],
      ['weigh', 'weigh at flour'],
    ],
    done: {
      finish: 'tool-calls',
      usage: {
        inputTokens: 10,
        outputTokens: 5,
        reasoningTokens: 1,
        cacheReadTokens: 4,
        cacheWriteTokens: 0,
      },
    },
  }

  test('reads text, reasoning, calls and usage', async () => {
    const { baseURL } = await serveModels(worker().agent)
    const model = responsesModel('worker', { baseURL, apiKey: 'none' })
    const events = await collect(model.stream(request, { signal: new AbortController().signal }))
    expect(shown(events)).toMatchObject(all)
  })

  test('resumes a response in the background from each of its checkpoints', async () => {
    const { agent, ran } = worker({ paceMs: 1 })
    const { baseURL } = await serveModels(agent)
    const model = responsesModel('worker', { baseURL, apiKey: 'none', background: true })
    const { signal } = new AbortController()
    const events = await collect(model.stream(request, { signal }))
    expect(shown(events)).toMatchObject(all)
    const isCheckpoint = ({ type }: ModelEvent) => type === 'checkpoint'
    const checkpoints = events.flatMap((event, index) =>
      event.type === 'checkpoint' && event.opaque ? [{ opaque: event.opaque, index }] : [],
    )
    expect(checkpoints.length).toBeGreaterThan(3)
    for (const { opaque, index } of checkpoints) {
      const resumed = model.background?.resume(opaque, request, { signal })
      const rest = await collect(resumed as NonNullable<typeof resumed>)
      const whole = [...events.slice(0, index), ...rest].filter((event) => !isCheckpoint(event))
      expect(shown(whole)).toEqual(shown(events))
    }
    expect(ran.toSorted()).toEqual(['look', 'weigh'])
  })
})
