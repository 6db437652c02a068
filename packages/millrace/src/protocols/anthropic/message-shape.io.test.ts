import type Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { names, present, recordingsOf } from '../../models/recordings.test-kit.ts'
import type { ScriptRound } from '../../protocol/index.ts'
import { pick, readFrames, scripted, searchTool, serveMessages } from './anthropic.test-kit.ts'

type Stable = {
  readonly message: Anthropic.Message
  readonly usage: Anthropic.Usage
  readonly delta: Anthropic.RawMessageDeltaEvent
  readonly stop: Anthropic.RawMessageDeltaEvent.Delta
  readonly finalUsage: Anthropic.MessageDeltaUsage
}

type Beta = {
  readonly message: Anthropic.Beta.BetaMessage
  readonly usage: Anthropic.Beta.BetaUsage
  readonly delta: Anthropic.Beta.BetaRawMessageDeltaEvent
  readonly stop: Anthropic.Beta.BetaRawMessageDeltaEvent.Delta
  readonly finalUsage: Anthropic.Beta.BetaMessageDeltaUsage
}

type RequiredKeys<Type> = { [Key in keyof Type]-?: object extends Pick<Type, Key> ? never : Key }[keyof Type]

/** The compiler rejects a list with a field that the SDK's type does not have, or without one. */
type FieldsOf<Types> = { [Name in keyof Types]: Record<RequiredKeys<Types[Name]>, true> }

const common = {
  message: {
    id: true,
    container: true,
    content: true,
    diagnostics: true,
    model: true,
    role: true,
    stop_details: true,
    stop_reason: true,
    stop_sequence: true,
    type: true,
    usage: true,
  },
  usage: {
    cache_creation: true,
    cache_creation_input_tokens: true,
    cache_read_input_tokens: true,
    inference_geo: true,
    input_tokens: true,
    output_tokens: true,
    output_tokens_details: true,
    server_tool_use: true,
    service_tier: true,
    speed: true,
  },
  delta: { delta: true, type: true, usage: true },
  stop: { container: true, stop_details: true, stop_reason: true, stop_sequence: true },
  finalUsage: {
    cache_creation_input_tokens: true,
    cache_read_input_tokens: true,
    input_tokens: true,
    output_tokens: true,
    output_tokens_details: true,
    server_tool_use: true,
  },
} as const

const stable: FieldsOf<Stable> = common

const beta: FieldsOf<Beta> = {
  ...common,
  message: { ...common.message, context_management: true },
  usage: { ...common.usage, fallback_credit: true, iterations: true },
  delta: { ...common.delta, context_management: true },
  finalUsage: { ...common.finalUsage, fallback_credit: true, iterations: true },
}

const blocks: FieldsOf<{
  text: Anthropic.TextBlock
  thinking: Anthropic.ThinkingBlock
  tool_use: Anthropic.ToolUseBlock
  mcp_tool_use: Anthropic.Beta.BetaMCPToolUseBlock
  mcp_tool_result: Anthropic.Beta.BetaMCPToolResultBlock
}> = {
  text: { citations: true, text: true, type: true },
  thinking: { signature: true, thinking: true, type: true },
  tool_use: { id: true, caller: true, input: true, name: true, type: true },
  mcp_tool_use: { id: true, input: true, name: true, server_name: true, type: true },
  mcp_tool_result: { content: true, is_error: true, tool_use_id: true, type: true },
}

const everything: ScriptRound = [
  { reasoning: 'Hm.' },
  { text: 'I look.' },
  { call: 'search', input: { of: 'rye' } },
  { call: 'pick', input: { of: 'sky' } },
]

const keysOf = (value: unknown) => Object.keys(value as object).toSorted()

/** What an agent sends that uses every kind of block. */
async function sent({ isBeta, isStream }: { readonly isBeta: boolean; readonly isStream: boolean }) {
  const { url } = await serveMessages(scripted(() => everything, [searchTool().search]))
  const response = await fetch(`${url}/v1/messages${isBeta ? '?beta=true' : ''}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'miller',
      max_tokens: 9,
      stream: isStream,
      tools: [pick],
      messages: [{ role: 'user', content: 'Hi' }],
    }),
  })
  return response.text()
}

describe.each([
  ['stable', stable],
  ['beta', beta],
])('the %s types of the SDK', (name, fields) => {
  const isBeta = name === 'beta'

  test('have all fields of a message, and it has all of theirs', async () => {
    const message = JSON.parse(await sent({ isBeta, isStream: false }))
    expect(keysOf(message)).toEqual(keysOf(fields.message))
    expect(keysOf(message.usage)).toEqual(keysOf(fields.usage))
    const types = message.content.map(({ type }: { type: string }) => type)
    expect(types.toSorted()).toEqual(keysOf(blocks))
    for (const block of message.content)
      expect(keysOf(block)).toEqual(keysOf(blocks[block.type as keyof typeof blocks]))
  })

  test('have all fields of a stream, and it has all of theirs', async () => {
    const frames = await sent({ isBeta, isStream: true })
    const message = readFrames(frames)
    expect(keysOf(message.start)).toEqual(keysOf(fields.message))
    expect(keysOf(message.start.usage)).toEqual(keysOf(fields.usage))
    expect(keysOf(message.stop)).toEqual(keysOf(fields.stop))
    expect(keysOf(message.usage)).toEqual(keysOf(fields.finalUsage))
    const delta = frames.split('\n').find((line) => line.startsWith('data: {"type":"message_delta"'))
    expect(keysOf(JSON.parse(delta?.slice(6) ?? ''))).toEqual(keysOf(fields.delta))
    const types = message.blocks.map(({ content }) => String(content.type))
    expect(types.toSorted()).toEqual(keysOf(blocks))
    for (const { content } of message.blocks)
      expect(keysOf(content)).toEqual(keysOf(blocks[content.type as keyof typeof blocks]))
  })
})

describe.runIf(present)('every field that Anthropic really sends is sent', () => {
  test.each(names.filter((name) => name.startsWith('anthropic/')))('%s', (name) => {
    const missing: string[] = []
    function compare(path: string, given: unknown, own: object) {
      for (const key of keysOf(given)) if (!(key in own)) missing.push(`${path}.${key}`)
    }
    for (const line of recordingsOf(name).flatMap(({ lines }) => lines) as Record<string, never>[]) {
      const {
        message,
        content_block: block,
        delta,
        usage,
      } = line as Record<string, { type?: string; usage?: unknown }>
      if (message) compare('message', message, beta.message)
      if (message) compare('message.usage', message.usage, beta.usage)
      if (block?.type && block.type in blocks) compare(block.type, block, blocks[block.type as 'text'])
      if (line.type === 'message_delta') {
        compare('message_delta', line, beta.delta)
        compare('message_delta.delta', delta, beta.stop)
        compare('message_delta.usage', usage, beta.finalUsage)
      }
    }
    expect(missing).toEqual([])
  })
})
