import type {
  AssistantPart,
  Message,
  ProviderData,
  ProviderToolPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'
import { callIds } from '../wire/call-ids.ts'
import { sendableName } from '../wire/tool-name.ts'
import type { MediaOptions } from './media.ts'
import { fileData, mediaOf, resultImage } from './media.ts'
import type { SpecVersion } from './spec.ts'

export interface PromptOptions extends MediaOptions {
  readonly version: SpecVersion
}

type Fields = Readonly<Record<string, unknown>>

interface PromptMessage {
  readonly role: Message['role']
  readonly content: string | Fields[]
}

/**
 * Converts a conversation to the SDK's format. Of other providers, only text, calls and results are
 * kept.
 */
export async function toPrompt(
  messages: readonly Message[],
  options: PromptOptions,
): Promise<PromptMessage[]> {
  const { provider } = options.model
  const rename = idsFor(provider)
  /**
   * The SDK's loop repeats a call's metadata in its result, where OpenAI's provider looks for it.
   */
  const metadata = new Map<string, Fields>()
  const prompt: PromptMessage[] = []
  for (const message of messages) {
    switch (message.role) {
      case 'system':
        prompt.push(message)
        break
      case 'user':
        prompt.push({ role: 'user', content: await userParts(message, options) })
        break
      case 'assistant': {
        const content = message.content.flatMap((part) => assistantPart(part, provider, rename))
        for (const part of message.content)
          if (part.type === 'tool-call') metadata.set(part.callId, providerOptions(part.opaque, provider))
        // Empty if it was all another provider's reasoning.
        if (content.length > 0) prompt.push({ role: 'assistant', content })
        break
      }
      case 'tool': {
        const result = {
          type: 'tool-result',
          toolCallId: rename(message.callId),
          toolName: sendableName(message.name),
          output: await toolOutput(message, options),
          ...metadata.get(message.callId),
        }
        // The results of one round form one message.
        const last = prompt.at(-1)
        if (last?.role === 'tool' && typeof last.content !== 'string') last.content.push(result)
        else prompt.push({ role: 'tool', content: [result] })
      }
    }
  }
  return prompt
}

/**
 * The call id format of each provider: the SDK passes ids through, and the API would reject invalid
 * ones.
 */
function idsFor(provider: string): (callId: string) => string {
  if (/anthropic|bedrock/.test(provider))
    return callIds({ pattern: /^[\w-]{1,64}$/, create: (token) => `toolu_${token}` })
  if (provider.startsWith('mistral'))
    return callIds({ pattern: /^[a-zA-Z0-9]{9}$/, create: (token) => token })
  if (/^(openai|azure)/.test(provider))
    return callIds({ pattern: /^[\w.:-]{1,40}$/, create: (token) => `call_${token}` })
  return (callId) => callId
}

async function userParts({ content }: UserMessage, options: PromptOptions): Promise<Fields[]> {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  const parts: Fields[] = []
  for (const part of content) {
    if (part.type === 'text') {
      if (part.text) parts.push({ type: 'text', text: part.text })
      continue
    }
    const media = await mediaOf(part, options)
    parts.push({
      type: 'file',
      mediaType: media.mediaType,
      data: fileData(media, options.version),
      ...(part.type === 'file' && part.name !== undefined && { filename: part.name }),
    })
  }
  return parts
}

function assistantPart(part: AssistantPart, provider: string, rename: (callId: string) => string): Fields[] {
  const foreign = part.opaque !== undefined && part.opaque.provider !== provider
  const options = providerOptions(part.opaque, provider)
  switch (part.type) {
    case 'text':
      // Google's provider puts a lone signature into an empty text, and needs it back there.
      if (part.text === '' && options.providerOptions === undefined) return []
      return [{ type: 'text', text: part.text, ...options }]
    case 'reasoning':
      return foreign ? [] : [{ type: 'reasoning', text: part.text, ...options }]
    case 'tool-call': {
      const { callId, name, input } = part
      return [
        { type: 'tool-call', toolCallId: rename(callId), toolName: sendableName(name), input, ...options },
      ]
    }
    case 'provider-tool':
      return foreign ? [] : providerTool(part)
  }
}

/** The inverse of `emitProviderTool` in `parts.ts`. */
function providerTool({ callId, name, input, output, isError, opaque }: ProviderToolPart): Fields[] {
  if (!isObject(opaque.data)) return []
  const { type, providerMetadata } = opaque.data
  const options = isObject(providerMetadata) ? { providerOptions: providerMetadata } : undefined
  const call = { toolCallId: callId, toolName: name }
  switch (type) {
    case 'tool-call':
      return [{ type, ...call, input: input ?? {}, providerExecuted: true, ...options }]
    case 'tool-result': {
      const value = output ?? null
      const form = isError ? 'error-json' : typeof value === 'string' ? 'text' : 'json'
      return [{ type, ...call, output: { type: form, value }, ...options }]
    }
    case 'custom':
      return [{ type, kind: name, ...options }]
    default:
      return []
  }
}

function providerOptions(
  opaque: ProviderData | undefined,
  provider: string,
): { readonly providerOptions?: Fields } {
  return opaque?.provider === provider && isObject(opaque.data) ? { providerOptions: opaque.data } : {}
}

async function toolOutput({ content, isError }: ToolMessage, options: PromptOptions): Promise<Fields> {
  const [first] = content
  if (first?.type === 'json' && content.length === 1)
    return { type: isError ? 'error-json' : 'json', value: first.value }
  // Texts are joined: some providers make a result of each part, but a call has only one result.
  if (!content.some(({ type }) => type === 'image'))
    return { type: isError ? 'error-text' : 'text', value: content.map(asText).join('\n') }
  const value: Fields[] = isError ? [{ type: 'text', text: 'The call failed.' }] : []
  for (const part of content)
    value.push(
      part.type === 'image'
        ? resultImage(await mediaOf(part, options), options.version)
        : { type: 'text', text: asText(part) },
    )
  return { type: 'content', value }
}

function asText(part: ToolResultPart): string {
  return part.type === 'text' ? part.text : part.type === 'json' ? JSON.stringify(part.value) : ''
}
