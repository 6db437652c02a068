import type { ContentBlock, EmbeddedResource } from '@agentclientprotocol/sdk'
import type { ToolResultPart, UserPart } from 'millrace'
import { invalidInput } from 'millrace/internal'

/** What a user wrote in an editor, with the files that they refer to. */
export function userContent(blocks: readonly ContentBlock[]): UserPart[] {
  if (blocks.length === 0) throw invalidInput('acp.prompt', 'the prompt is empty')
  return blocks.map((block): UserPart => {
    switch (block.type) {
      case 'text':
        return { type: 'text', text: block.text }
      case 'image':
        return { type: 'image', data: block.data, mediaType: block.mimeType }
      case 'resource_link':
        return { type: 'text', text: linkTo(block.uri, block.title ?? block.name) }
      case 'resource':
        return embedded(block)
      default:
        throw invalidInput('acp.prompt', `a prompt cannot contain ${block.type}: send text or images`)
    }
  })
}

function embedded({ resource }: EmbeddedResource): UserPart {
  const { uri, mimeType } = resource
  if ('text' in resource)
    return { type: 'text', text: `${linkTo(uri)}\n<context ref="${uri}">\n${resource.text}\n</context>` }
  if (mimeType?.startsWith('image/')) return { type: 'image', data: resource.blob, mediaType: mimeType }
  const mediaType = mimeType ?? 'application/octet-stream'
  return { type: 'file', data: resource.blob, mediaType, name: nameIn(uri) }
}

const linkTo = (uri: string, name = nameIn(uri)) => `[@${name}](${uri})`

function nameIn(uri: string): string {
  return uri.split('/').findLast(Boolean) ?? uri
}

/** Parts of a message or a result, as an editor shows them. */
export function blocksOf(content: string | readonly (UserPart | ToolResultPart)[]): ContentBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part): ContentBlock => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    if (part.type === 'json') return { type: 'text', text: JSON.stringify(part.value, null, 2) }
    if (part.type === 'image' && 'data' in part)
      return { type: 'image', data: part.data, mimeType: part.mediaType }
    const name = part.type === 'file' && part.name !== undefined ? part.name : part.type
    if ('url' in part) return { type: 'resource_link', uri: part.url, name }
    return { type: 'text', text: `[${part.type}: ${name}]` }
  })
}
