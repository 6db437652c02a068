import type { ModelEvent, ModelRequest } from '../../protocol/index.ts'
import type { AISDKCallOptions, AISDKModel, AISDKOptions } from '../ai-sdk.ts'
import { fromAISDK } from '../ai-sdk.ts'

/** A part of the SDK's stream, or the error that it fails with. */
export type Part = { readonly type: string; readonly [field: string]: unknown } | Error

export interface FakeModel extends AISDKModel {
  /** The options of each call, in order. */
  readonly calls: (AISDKCallOptions & { readonly [option: string]: unknown })[]
}

/** A fake model: each call streams the next list of parts. */
export function fakeModel(
  rounds: readonly (readonly Part[])[],
  overrides: Partial<Pick<AISDKModel, 'specificationVersion' | 'provider' | 'supportedUrls'>> = {},
): FakeModel {
  const calls: FakeModel['calls'] = []
  return {
    specificationVersion: 'v4',
    provider: 'acme.chat',
    modelId: 'acme-1',
    ...overrides,
    calls,
    async doStream(options) {
      calls.push({ ...options })
      const parts = rounds[calls.length - 1] ?? []
      return { stream: streamOf(parts) }
    },
  }
}

function streamOf(parts: readonly Part[]): ReadableStream<unknown> {
  const left = parts.values()
  return new ReadableStream({
    pull(controller) {
      const { done, value } = left.next()
      if (done) controller.close()
      else if (value instanceof Error) controller.error(value)
      else controller.enqueue(value)
    },
  })
}

export const usage = { inputTokens: { total: 5 }, outputTokens: { total: 7 } }
export const stop: Part = { type: 'finish', finishReason: { unified: 'stop', raw: 'end' }, usage }
export const toolCalls: Part = {
  type: 'finish',
  finishReason: { unified: 'tool-calls', raw: 'tools' },
  usage,
}

export const lookTool = { name: 'look', description: 'Looks', inputSchema: { type: 'object' } } as const

export const request: ModelRequest = {
  messages: [{ role: 'user', content: 'hi' }],
  tools: [lookTool],
  settings: {},
}

const never = new AbortController().signal

/** All events of one answer, and the error that ended it. */
export async function collect(
  model: AISDKModel,
  asked: Partial<ModelRequest> = {},
  options?: AISDKOptions,
): Promise<{ events: ModelEvent[]; error: unknown }> {
  const events: ModelEvent[] = []
  try {
    const stream = fromAISDK(model, options).stream({ ...request, ...asked }, { signal: never })
    for await (const event of stream) events.push(event)
    return { events, error: undefined }
  } catch (error) {
    return { events, error }
  }
}
