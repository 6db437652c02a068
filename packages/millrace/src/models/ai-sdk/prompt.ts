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

/** The conversation in the SDK's form. What another provider put into it stays out, but for words, calls and results. */
export async function toPrompt(
  messages: readonly Message[],
  options: PromptOptions,
): Promise<PromptMessage[]> {
  const { provider } = options.model
  const rename = idsFor(provider)
  /** The SDK's loop sends with a result what came with its call: OpenAI's provider looks for it there. */
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
        // All of it may have been another provider's reasoning.
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
        // The results of one round are one message here.
        const last = prompt.at(-1)
        if (last?.role === 'tool' && typeof last.content !== 'string') last.content.push(result)
        else prompt.push({ role: 'tool', content: [result] })
      }
    }
  }
  return prompt
}

/** Whose ids have a form, and which. Providers send on what they are given, and the wire refuses it. */
function idsFor(provider: string): (callId: string) => string {
  if (/anthropic|bedrock/.test(provider))
    return callIds({ fits: /^[\w-]{1,64}$/, make: (token) => `toolu_${token}` })
  if (provider.startsWith('mistral')) return callIds({ fits: /^[a-zA-Z0-9]{9}$/, make: (token) => token })
  if (/^(openai|azure)/.test(provider))
    return callIds({ fits: /^[\w.:-]{1,40}$/, make: (token) => `call_${token}` })
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
      // Google's provider gives a signature that stands alone an empty text, and wants it back there.
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

/** The other way round in `parts.ts`. */
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
  // Several texts are one: some providers make a result of each part, and a call has only one.
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
