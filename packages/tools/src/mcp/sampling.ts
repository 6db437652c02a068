import type { ToolContext } from 'millrace'
import { agent } from 'millrace'
import { nestedRun, nestedRunOf } from 'millrace/internal'

/** What servers may ask the agent's model. */
export interface McpSampling {
  /** The longest answer; 4096 by default. A server may want less. */
  readonly maxTokens?: number | undefined
  /** How many answers one tool call may ask for; 10 by default. */
  readonly maxRequests?: number | undefined
}

export interface SamplingRequest {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly systemPrompt?: string | undefined
  readonly maxTokens: number
  readonly temperature?: number | undefined
  readonly stopSequences?: readonly string[] | undefined
}

/**
 * Answers a server with the agent's model: as a sub-agent of the call without tools, so that it is shown,
 * counted and limited as one.
 */
export async function sample(
  { messages, systemPrompt, maxTokens, temperature, stopSequences }: SamplingRequest,
  context: ToolContext,
  limits: McpSampling,
) {
  const { model } = nestedRunOf(context)
  if (!model) throw new Error('there is no model to ask')
  const chosen = model()
  const sampler = agent({
    name: 'sampling',
    model: chosen,
    ...(systemPrompt !== undefined && { system: systemPrompt }),
    settings: {
      maxOutputTokens: Math.min(maxTokens, limits.maxTokens ?? 4096),
      ...(temperature !== undefined && { temperature }),
      ...(stopSequences && stopSequences.length > 0 && { stop: [...stopSequences] }),
    },
  })
  const tool = sampler.asTool({ description: 'Answers a server' })
  const nested = { ...context, [nestedRun]: { ...nestedRunOf(context), resumed: undefined } }
  const text = await tool.run?.({ prompt: promptOf(messages) } as never, nested)
  if (typeof text !== 'string') throw new Error('the budget of the agent is spent')
  return {
    role: 'assistant' as const,
    content: { type: 'text' as const, text },
    model: chosen.id,
    stopReason: 'endTurn',
  }
}

/** A conversation of several messages is written down as one. */
function promptOf(messages: SamplingRequest['messages']): string {
  const texts = messages.map(({ role, content }) => ({ role, text: [content].flat().map(textOf).join('\n') }))
  if (texts.length === 1) return texts[0]?.text ?? ''
  return texts.map(({ role, text }) => `${role === 'assistant' ? 'Assistant' : 'User'}: ${text}`).join('\n\n')
}

function textOf(block: unknown): string {
  const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown }
  if (type === 'text' && typeof text === 'string') return text
  throw new Error(`only text can be sent to the model, not ${String(type)}`)
}
