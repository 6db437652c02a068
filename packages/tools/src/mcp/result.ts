import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { ToolResultPart } from 'millrace'
import { toolContent } from 'millrace'
import { toJson } from 'millrace/internal'

type Block = CallToolResult['content'][number]

/**
 * Converts a server's result. Throws if the server marks it as an error, with the server's text.
 */
export function toResult(result: CallToolResult): unknown {
  const parts = result.content.map(toPart)
  const { structuredContent } = result
  if (structuredContent !== undefined && !parts.some((part) => saysTheSame(part, structuredContent)))
    parts.push({ type: 'json', value: toJson(structuredContent) })
  if (result.isError) throw new Error(inWords(parts) || 'the server reported an error without a message')
  const [first] = parts
  if (!first || (parts.length === 1 && first.type === 'text'))
    return first?.type === 'text' ? first.text : undefined
  return toolContent(parts)
}

/** Servers should send structured content as text too, for older clients: keep only one of them. */
function saysTheSame(part: ToolResultPart, value: unknown): boolean {
  if (part.type !== 'text') return false
  try {
    return isDeepStrictEqual(JSON.parse(part.text), value)
  } catch {
    return false
  }
}

function inWords(parts: readonly ToolResultPart[]): string {
  return parts
    .map((part) =>
      part.type === 'text' ? part.text : part.type === 'json' ? JSON.stringify(part.value) : '',
    )
    .filter(Boolean)
    .join('\n')
}

function toPart(block: Block): ToolResultPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
      return media(block.mimeType, block.data, 'image')
    case 'audio':
      return media(block.mimeType, block.data, 'audio')
    case 'resource_link':
      return { type: 'text', text: linkText(block) }
    case 'resource': {
      const { resource } = block
      if ('text' in resource) return { type: 'text', text: `${resource.uri}:\n${resource.text}` }
      return media(resource.mimeType ?? 'application/octet-stream', resource.blob, resource.uri)
    }
  }
}

/** Images that models can see; other media are only mentioned. */
const visible = /^image\/(png|jpeg|gif|webp)$/i

function media(mediaType: string, data: string, what: string): ToolResultPart {
  if (visible.test(mediaType)) return { type: 'image', data, mediaType: mediaType.toLowerCase() }
  const bytes = Math.floor((data.length * 3) / 4)
  const size = bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KB`
  return { type: 'text', text: `[${what}, ${size}, ${mediaType}: not shown]` }
}

function linkText({
  uri,
  name,
  title,
  description,
  mimeType,
}: Extract<Block, { type: 'resource_link' }>): string {
  const about = [title ?? name, mimeType, description].filter(Boolean).join(', ')
  return `[link: ${uri} (${about})]`
}
