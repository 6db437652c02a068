import Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'
import type { Agent } from '../../agent/index.ts'
import { agent } from '../../agent/index.ts'
import type { ApprovalRequestEvent, JsonObject, ModelRequest, ScriptRound } from '../../protocol/index.ts'
import { noUsage, textOf } from '../../protocol/index.ts'
import type { ServerOptions } from '../../server/index.ts'
import { served } from '../../server/server.test-kit.ts'
import { scriptedModel } from '../../testing/index.ts'
import type { Tool } from '../../tools/index.ts'
import { tool } from '../../tools/index.ts'
import type { AnswerEnd, ModelProtocolOptions } from '../model-api/index.ts'
import { anthropicApi } from './index.ts'

interface WireBlock {
  content: Record<string, unknown>
  /** The deltas, joined by their type. */
  deltas: Record<string, string>
}

export interface WireMessage {
  readonly blocks: WireBlock[]
  start: JsonObject
  stop: JsonObject
  usage: JsonObject
  error?: JsonObject
}

/**
 * Reads the frames of a message stream, and throws where a strict reader would: blocks that overlap,
 * indexes that do not count from 0, events before the start or after the end.
 */
export function readFrames(frames: string): WireMessage {
  const message: WireMessage = { blocks: [], start: {}, stop: {}, usage: {} }
  let state: 'before' | 'between' | 'open' | 'stopped' | 'ended' = 'before'
  function expect(condition: unknown, what: string) {
    if (!condition) throw new Error(`${what} while ${state}`)
  }
  for (const frame of frames.split('\n\n').filter(Boolean)) {
    const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? []
    const event = JSON.parse(data ?? 'null') as Record<string, never>
    expect(event && event.type === name, `the frame ${frame}`)
    const block = message.blocks.at(-1)
    expect(state !== 'ended', `the event ${name}`)
    switch (name) {
      case 'message_start':
        expect(state === 'before', name)
        message.start = event.message as unknown as JsonObject
        state = 'between'
        break
      case 'content_block_start':
        expect(state === 'between' && event.index === message.blocks.length, `${name} ${event.index}`)
        message.blocks.push({ content: event.content_block as never, deltas: {} })
        state = 'open'
        break
      case 'content_block_delta': {
        expect(state === 'open' && event.index === message.blocks.length - 1, `${name} ${event.index}`)
        const { type, ...value } = event.delta as unknown as { type: string }
        if (block) block.deltas[type] = (block.deltas[type] ?? '') + Object.values(value).join('')
        break
      }
      case 'content_block_stop':
        expect(state === 'open' && event.index === message.blocks.length - 1, `${name} ${event.index}`)
        state = 'between'
        break
      case 'message_delta':
        expect(state === 'between', name)
        message.stop = event.delta as unknown as JsonObject
        message.usage = event.usage as unknown as JsonObject
        state = 'stopped'
        break
      case 'message_stop':
        expect(state === 'stopped', name)
        state = 'ended'
        break
      case 'ping':
        break
      case 'error':
        message.error = event.error as unknown as JsonObject
        state = 'ended'
        break
      default:
        expect(false, `the event ${name}`)
    }
  }
  if (state !== 'ended') throw new Error(`the stream is ${state} at its end`)
  return message
}

type Options = Omit<ServerOptions, 'protocols'> & { readonly protocol?: ModelProtocolOptions }

/**
 * A server with the agents as models, on a real port, and a client of Anthropic's SDK. Clients may
 * send everything.
 */
export async function serveMessages(
  agents: Agent | Record<string, Agent>,
  { protocol, ...options }: Options = {},
) {
  const given = served(agents, {
    clientOptions: ['tools', 'system', 'settings', 'toolChoice', 'output'],
    ...options,
    protocols: [anthropicApi(protocol)],
  })
  const { url } = await given.app.listen()
  return { ...given, url, port: Number(new URL(url).port), client: clientOf(url) }
}

/** Without retries, so that a test sees each failure. */
export function clientOf(baseURL: string, options: ConstructorParameters<typeof Anthropic>[0] = {}) {
  return new Anthropic({ baseURL, apiKey: 'none', maxRetries: 0, ...options })
}

/** An agent whose model plays a script, which can depend on the request. */
export function scripted(
  script: (request: ModelRequest, index: number) => ScriptRound,
  tools: readonly Tool[] = [],
): Agent {
  return agent({ name: 'miller', model: scriptedModel(script, { deltaChars: 4 }), tools: [...tools] })
}

/** The results in a request, with the names of their tools. */
export function resultsOf({ messages }: ModelRequest): string[] {
  return messages.flatMap((message) => (message.role === 'tool' ? `${message.name}: ${textOf(message)}` : []))
}

/** Calls the client's tool twice at once, and repeats the results. */
export function painter(): Agent {
  return scripted((request) => {
    const results = resultsOf(request)
    if (results.length > 0) return `I have ${results.join(', ')}.`
    return [
      { text: 'I ask.' },
      { call: 'pick', input: { of: 'sky' }, id: 'call_1' },
      { call: 'pick', input: { of: 'sea' }, id: 'call_2' },
    ]
  })
}

/** A tool of the server, with how often it has run. */
export function searchTool() {
  const runs: string[] = []
  const search = tool({
    name: 'search',
    description: 'Searches',
    input: z.object({ of: z.string() }),
    run({ of }) {
      runs.push(of)
      return `found ${of}`
    },
  })
  return { search, runs }
}

/** Searches on the server and asks the client in one round, and repeats both results. */
export function mixer() {
  const { search, runs } = searchTool()
  const mixed = scripted(
    (request) => {
      const results = resultsOf(request)
      if (results.length > 0) return results.join(', ')
      return [
        { call: 'search', input: { of: 'wheat' }, id: 'call_s' },
        { call: 'pick', input: { of: 'sky' }, id: 'call_c' },
      ]
    },
    [search],
  )
  return { mixed, runs }
}

/** A tool of the client, as its requests declare it. */
export const pick = {
  name: 'pick',
  description: 'Picks a color',
  input_schema: {
    type: 'object' as const,
    properties: { of: { type: 'string' as const } },
    required: ['of'],
  },
}

/** The text of a message, its blocks joined. */
export function textIn({ content }: { readonly content: readonly { readonly type: string }[] }): string {
  return content.map((block) => ('text' in block ? String(block.text) : '')).join('')
}

/** The end of a run, for a writer that is driven by hand. */
export function endOf(end: Partial<AnswerEnd>): AnswerEnd {
  const base = { outcome: 'completed', finish: 'stop', error: undefined, usage: noUsage } as const
  return { ...base, waiting: [], approvals: [], ...end }
}

export function request(callId: string, wants?: 'result'): ApprovalRequestEvent {
  return { type: 'approval-request', callId, name: 'cut', input: { where: 'here' }, ...(wants && { wants }) }
}
