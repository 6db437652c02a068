import type { ToolResultEvent } from 'millrace/view'
import type { UserPart } from './draft.ts'
import { Folded } from './folded.tsx'
import { imageTypes } from './image.ts'

type Part = ToolResultEvent['output'][number] | UserPart

interface Elsewhere {
  readonly type: string
  readonly mediaType?: string
  readonly name?: string
  readonly url?: string
}

/** What a tool gave or a person sent along. */
export function PartView({ part, label }: { readonly part: Part; readonly label: string }) {
  if (part.type === 'text') return <Folded value={part.text} label={label} />
  if (part.type === 'json') return <Folded value={part.value} label={label} />
  // Anything else that calls itself an image may be a document with scripts.
  if ('data' in part && imageTypes.includes(part.mediaType))
    return <img class="chat-image" src={`data:${part.mediaType};base64,${part.data}`} alt={label} />
  const { type, mediaType = type, name = mediaType, url = '' }: Elsewhere = part
  const words = `${name} ${url.slice(0, 200)}`
  // Nothing is loaded from elsewhere: it is a link to follow, if it leads to a page.
  if (!/^https?:/i.test(url)) return <p class="quiet">{words}</p>
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {words}
    </a>
  )
}
