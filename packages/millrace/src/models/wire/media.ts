import type { FilePart, ImagePart, Message, UserPart } from '../../protocol/index.ts'

/** An image or a file as wires want it: where it is, or its base64 with its type. A `data:` URL is taken apart. */
export type Source =
  | { readonly url: string; readonly data?: undefined }
  | { readonly data: string; readonly mediaType: string; readonly url?: undefined }

export function sourceOf(part: ImagePart | FilePart): Source {
  if ('data' in part) return { data: part.data, mediaType: part.mediaType }
  const inline = /^data:([^;,]+)[^,]*;base64,(.*)$/is.exec(part.url)
  if (inline) return { mediaType: inline[1] as string, data: inline[2] as string }
  return { url: part.url }
}

/**
 * A conversation as a wire can take it that does not take every file. In what is to be answered such a file is refused, by whoever
 * converts it; in what came before, which another model may have read, it is only mentioned.
 */
export function mentionFiles(
  messages: readonly Message[],
  takes: (file: FilePart) => boolean,
): readonly Message[] {
  const answered = messages.findLastIndex(({ role }) => role !== 'user')
  return messages.map((message, at) => {
    if (message.role !== 'user' || at > answered || typeof message.content === 'string') return message
    const content = message.content.map((part): UserPart => {
      if (part.type !== 'file' || takes(part)) return part
      return { type: 'text', text: `[a file of type ${part.mediaType} was left out: this model takes none]` }
    })
    return { ...message, content }
  })
}

/** The other way: a wire that has one field for both takes a `data:` URL. */
export function asUrl(part: ImagePart | FilePart): string {
  const source = sourceOf(part)
  return source.url ?? `data:${source.mediaType};base64,${source.data}`
}

export function asText(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0)))
}
