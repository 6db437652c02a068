import type { ToolResultEvent } from 'millrace/view'
import type { UserPart } from './draft.ts'
import { imageTypes } from './image.ts'
import { LongText } from './long-text.tsx'

type Part = ToolResultEvent['output'][number] | UserPart

interface LinkedPart {
  readonly type: string
  readonly mediaType?: string
  readonly name?: string
  readonly url?: string
}

/** A part of a tool result or of a message. */
export function PartView({ part, label }: { readonly part: Part; readonly label: string }) {
  if (part.type === 'text') return <LongText value={part.text} label={label} />
  if (part.type === 'json') return <LongText value={part.value} label={label} />
  // Other image types, such as SVG, may contain scripts.
  if ('data' in part && imageTypes.includes(part.mediaType))
    return <img class="chat-image" src={`data:${part.mediaType};base64,${part.data}`} alt={label} />
  const { type, mediaType = type, name = mediaType, url = '' }: LinkedPart = part
  const words = `${name} ${url.slice(0, 200)}`
  // Nothing is loaded from other servers: web addresses become links.
  if (!/^https?:/i.test(url)) return <p class="quiet">{words}</p>
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {words}
    </a>
  )
}
