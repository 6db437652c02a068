import type { FilePart, ImagePart } from '../../protocol/index.ts'
import { invalidInput, messageOf, nameOf } from '../../protocol/index.ts'
import { sourceOf } from '../wire/media.ts'
import type { AISDKModel, SpecVersion, SupportedUrls } from './spec.ts'

/** Fetches what a provider does not fetch itself. */
export type Download = (
  url: string,
  options: { readonly signal: AbortSignal },
) => PromiseLike<{ readonly data: Uint8Array | string; readonly mediaType?: string | undefined }>

/** A file as it will be sent: base64 or bytes, or a URL that the provider takes. */
export type Media =
  | { readonly data: Uint8Array | string; readonly mediaType: string; readonly url?: undefined }
  | { readonly url: string; readonly mediaType: string; readonly data?: undefined }

export interface MediaOptions {
  readonly model: AISDKModel
  readonly download: Download | undefined
  readonly signal: AbortSignal
}

/**
 * Makes an image or a file into what the model takes. A URL that the provider does not fetch itself goes through `download`.
 * Without one it is refused: fetching whatever URL a user writes is not for a library to begin by itself.
 */
export async function mediaOf(part: ImagePart | FilePart, options: MediaOptions): Promise<Media> {
  const source = sourceOf(part)
  if (source.data !== undefined) return source
  // An image by URL has no type; every specification knows the star.
  const mediaType = part.type === 'image' ? 'image/*' : part.mediaType
  const { url } = source
  const { model, download, signal } = options
  const supported = await model.supportedUrls
  if (supported === undefined || fetches(supported, url, mediaType)) return { url, mediaType }
  if (!download)
    throw invalidInput(
      'model.stream',
      `'${model.modelId}' does not fetch ${mediaType} from ${nameOf(url)}: pass the data instead, or give fromAISDK a download`,
    )
  try {
    const fetched = await download(url, { signal })
    return { data: fetched.data, mediaType: fetched.mediaType ?? mediaType }
  } catch (cause) {
    throw invalidInput('model.stream', `download(${nameOf(url)}) failed: ${messageOf(cause)}`, cause)
  }
}

function fetches(supported: SupportedUrls, url: string, mediaType: string): boolean {
  const type = mediaType.toLowerCase()
  return Object.entries(supported).some(([key, patterns]) => {
    const known = key.toLowerCase()
    const prefix = known === '*' ? '' : known.replace(/\*.*$/, '')
    const fits = prefix === known ? type === known : type.startsWith(prefix)
    // `search` starts from the beginning, whatever a global pattern remembers.
    return fits && patterns.some((pattern) => url.search(pattern) >= 0)
  })
}

/** The `data` of a file part: tagged in v4, bare before. */
export function fileData(media: Media, version: SpecVersion): unknown {
  if (version === 'v4')
    return media.url === undefined
      ? { type: 'data', data: media.data }
      : { type: 'url', url: new URL(media.url) }
  return media.url === undefined ? media.data : new URL(media.url)
}

/** An image in the result of a tool: each specification has its own form, and v2 none for a URL. */
export function resultImage(media: Media, version: SpecVersion): Readonly<Record<string, unknown>> {
  const { mediaType } = media
  if (version === 'v4') return { type: 'file', mediaType, data: fileData(media, version) }
  if (media.url === undefined)
    return { type: version === 'v3' ? 'image-data' : 'media', data: base64(media.data), mediaType }
  return version === 'v3'
    ? { type: 'image-url', url: media.url }
    : { type: 'text', text: `an image: ${media.url}` }
}

export function base64(data: Uint8Array | string): string {
  if (typeof data === 'string') return data
  let binary = ''
  // In slices: an argument list has a limit, and one character at a time is slow.
  for (let at = 0; at < data.length; at += 8192)
    binary += String.fromCharCode(...data.subarray(at, at + 8192))
  return btoa(binary)
}
