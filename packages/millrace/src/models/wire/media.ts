import type { FilePart, ImagePart, Message, UserPart } from '../../protocol/index.ts'

/**
 * An image or file as APIs expect it: a URL, or base64 with a media type. `data:` URLs are parsed.
 */
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
 * Replaces unsupported files in earlier user messages, which another model may have read, with a
 * note. Files in the latest user messages are kept: the conversion of the messages rejects those.
 */
export function omitUnsupportedFiles(
  messages: readonly Message[],
  supports: (file: FilePart) => boolean,
): readonly Message[] {
  const isUnsupported = (part: UserPart) => part.type === 'file' && !supports(part)
  const lastReply = messages.findLastIndex(({ role }) => role !== 'user')
  return messages.map((message, at) => {
    if (message.role !== 'user' || at > lastReply || typeof message.content === 'string') return message
    // Unchanged, it stays the same object, which is converted only once.
    if (!message.content.some(isUnsupported)) return message
    const content = message.content.map((part): UserPart => {
      if (part.type !== 'file' || supports(part)) return part
      return {
        type: 'text',
        text: `[a file of type ${part.mediaType} was omitted: this model does not support it]`,
      }
    })
    return { ...message, content }
  })
}

/** For APIs with a single field: a URL, or the data as a `data:` URL. */
export function asUrl(part: ImagePart | FilePart): string {
  const source = sourceOf(part)
  return source.url ?? `data:${source.mediaType};base64,${source.data}`
}

export function asText(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0)))
}
