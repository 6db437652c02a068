import type { FilePart, ImagePart } from '../../protocol/index.ts'
import { invalidInput, messageOf, nameOf } from '../../protocol/index.ts'
import { sourceOf } from '../wire/media.ts'
import type { AISDKModel, SpecVersion, SupportedUrls } from './spec.ts'

/** Fetches what a provider does not fetch itself. */
export type Download = (
  url: string,
  options: { readonly signal: AbortSignal },
) => PromiseLike<{ readonly data: Uint8Array | string; readonly mediaType?: string | undefined }>

/** A file to send: base64 or bytes, or a URL that the provider fetches. */
export type Media =
  | { readonly data: Uint8Array | string; readonly mediaType: string; readonly url?: undefined }
  | { readonly url: string; readonly mediaType: string; readonly data?: undefined }

export interface MediaOptions {
  readonly model: AISDKModel
  readonly download: Download | undefined
  readonly signal: AbortSignal
}

/**
 * Converts an image or a file to what the model accepts. A URL that the provider does not fetch
 * itself goes through `download`. Without `download` it is rejected: a library must not fetch
 * arbitrary user URLs on its own.
 */
export async function mediaOf(part: ImagePart | FilePart, options: MediaOptions): Promise<Media> {
  const source = sourceOf(part)
  if (source.data !== undefined) return source
  // An image URL has no media type; every specification accepts the wildcard.
  const mediaType = part.type === 'image' ? 'image/*' : part.mediaType
  const { url } = source
  const { model, download, signal } = options
  const supported = await model.supportedUrls
  if (supported === undefined || canFetch(supported, url, mediaType)) return { url, mediaType }
  if (!download)
    throw invalidInput(
      'model.stream',
      `'${model.modelId}' does not fetch ${mediaType} from ${nameOf(url)}: pass the data instead, or pass a download function to fromAISDK()`,
    )
  try {
    const fetched = await download(url, { signal })
    return { data: fetched.data, mediaType: fetched.mediaType ?? mediaType }
  } catch (cause) {
    throw invalidInput('model.stream', `download(${nameOf(url)}) failed: ${messageOf(cause)}`, cause)
  }
}

function canFetch(supported: SupportedUrls, url: string, mediaType: string): boolean {
  const type = mediaType.toLowerCase()
  return Object.entries(supported).some(([key, patterns]) => {
    const known = key.toLowerCase()
    const prefix = known === '*' ? '' : known.replace(/\*.*$/, '')
    const fits = prefix === known ? type === known : type.startsWith(prefix)
    // `search` ignores the `lastIndex` of a global pattern.
    return fits && patterns.some((pattern) => url.search(pattern) >= 0)
  })
}

/** The `data` of a file part: tagged in v4, plain before. */
export function fileData(media: Media, version: SpecVersion): unknown {
  if (version === 'v4')
    return media.url === undefined
      ? { type: 'data', data: media.data }
      : { type: 'url', url: new URL(media.url) }
  return media.url === undefined ? media.data : new URL(media.url)
}

/** An image in a tool result. Each specification has its own format, and v2 has none for a URL. */
export function resultImage(media: Media, version: SpecVersion): Readonly<Record<string, unknown>> {
  const { mediaType } = media
  if (version === 'v4') return { type: 'file', mediaType, data: fileData(media, version) }
  if (media.url === undefined)
    return { type: version === 'v3' ? 'image-data' : 'media', data: base64(media.data), mediaType }
  return version === 'v3'
    ? { type: 'image-url', url: media.url }
    : { type: 'text', text: `Image: ${media.url}` }
}

export function base64(data: Uint8Array | string): string {
  if (typeof data === 'string') return data
  let binary = ''
  // In slices: argument lists are limited, and one character at a time is slow.
  for (let at = 0; at < data.length; at += 8192)
    binary += String.fromCharCode(...data.subarray(at, at + 8192))
  return btoa(binary)
}
