import type { FilePart, ImagePart, ToolResultPart, Usage, UserMessage } from '../protocol/index.ts'
import { isObject } from '../protocol/index.ts'
import type { UIFile, UIMessageMetadata, UISource, UIText } from './ui-message-types.ts'

/** The parts of a user's message. */
export function userParts({ content }: UserMessage): (UIText | UIFile)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : fileOf(part)))
}

function fileOf(part: ImagePart | FilePart): UIFile {
  // The media type of an image with a URL is not known; the AI SDK then accepts its first half.
  const mediaType = 'mediaType' in part ? part.mediaType : 'image'
  return {
    type: 'file',
    mediaType,
    url: 'url' in part ? part.url : `data:${mediaType};base64,${part.data}`,
    ...('name' in part && part.name !== undefined && { filename: part.name }),
  }
}

/**
 * A tool result: one text or value as it is, otherwise the list of its parts. Images are files of
 * the message, so that every chat shows them. Their data is sent only there: a client sends all its
 * messages with each request. `readUIMessages` puts them together again.
 */
export function toolOutput(
  callId: string,
  parts: readonly ToolResultPart[],
): { readonly output: unknown; readonly files: readonly UIFile[] } {
  const [first = null] = parts
  const files = parts.flatMap((part) =>
    part.type === 'image' ? [{ ...fileOf(part), providerMetadata: { millrace: { callId } } }] : [],
  )
  if (parts.length > 1 || first?.type === 'image')
    return { output: parts.map((part) => (part.type === 'image' ? withoutData(part) : part)), files }
  return { output: first && (first.type === 'text' ? first.text : first.value), files }
}

function withoutData(part: ImagePart) {
  return 'data' in part ? { type: part.type, mediaType: part.mediaType } : part
}

/** How images of the common formats start in base64. */
const imageStarts: readonly (readonly [start: string, mediaType: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
]

/** The output of a tool that the provider ran, with the images and sources in it. */
export function providerOutput(output: unknown): {
  readonly output: unknown
  readonly parts: readonly (UIFile | UISource)[]
} {
  const [, mediaType] =
    imageStarts.find(([start]) => typeof output === 'string' && output.startsWith(start)) ?? []
  // OpenAI's image generation returns nothing but the image, in base64.
  if (mediaType !== undefined)
    return {
      output: null,
      parts: [{ type: 'file', mediaType, url: `data:${mediaType};base64,${output}` }],
    }
  return { output: output ?? null, parts: sourcesIn(output, 3) }
}

/** Web searches return lists of objects with a `url` and mostly a `title`. */
function sourcesIn(value: unknown, depth: number): UISource[] {
  if (depth === 0) return []
  if (Array.isArray(value)) return value.flatMap((one) => sourcesIn(one, depth - 1))
  if (!isObject(value)) return []
  const { url, title } = value
  if (typeof url !== 'string' || !/^https?:/.test(url))
    return Object.values(value).flatMap((one) => (typeof one === 'object' ? sourcesIn(one, depth - 1) : []))
  return [{ type: 'source-url', sourceId: url, url, ...(typeof title === 'string' && { title }) }]
}

export function metadataOf({
  inputTokens,
  outputTokens,
  reasoningTokens,
  cacheReadTokens,
}: Usage): UIMessageMetadata {
  return {
    usage: {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      reasoningTokens,
      cachedInputTokens: cacheReadTokens,
    },
  }
}
