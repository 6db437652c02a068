import type { JsonObject, ModelSettings, ProviderData } from '../../protocol/index.ts'
import { isJsonObject } from '../../protocol/index.ts'
import type { HttpCall } from '../wire/http.ts'
import type { HttpModel } from '../wire/http-model.ts'
import { send } from '../wire/send.ts'
import type { Checkpoint } from './reader.ts'

/** How long to wait for the response to a cancel request. */
const cancelMs = 10_000

/** The checkpoint in `data`, if our reader wrote it. */
export function checkpointOf({ data }: ProviderData): Checkpoint | undefined {
  const isOurs = isJsonObject(data) && typeof data.id === 'string' && typeof data.sequence === 'number'
  return isOurs ? (data as unknown as Checkpoint) : undefined
}

/** `GET /responses/:id?stream=true&starting_after=N`, with the `include` of the first request. */
export function resumeCall(call: HttpCall, { id, sequence }: Checkpoint, include: unknown): HttpCall {
  const url = responseUrl(call.url, id)
  url.searchParams.set('stream', 'true')
  url.searchParams.set('starting_after', String(sequence))
  for (const field of Array.isArray(include) ? include : [])
    url.searchParams.append('include[]', String(field))
  return { ...call, url: url.href, body: undefined }
}

/**
 * `POST /responses/:id/cancel`. Never rejects: the response may have ended, or the provider be
 * unreachable.
 */
export async function cancelResponse(
  http: HttpModel,
  { id }: Checkpoint,
  settings: ModelSettings,
): Promise<void> {
  try {
    const signal = AbortSignal.timeout(cancelMs)
    const { url, headers, fetch } = await http.call({}, { settings: http.settings(settings), signal })
    const to = responseUrl(url, id, '/cancel').href
    const json = { 'content-type': 'application/json', accept: 'application/json' }
    const answer = await send({ url: to, headers: { ...json, ...headers }, body: '{}', signal }, fetch)
    answer.close()
  } catch {
    // Nothing more can be done: the response ends on its own.
  }
}

/** Keeps a query such as Azure's `?api-version=…`. */
function responseUrl(base: string, id: string, more = ''): URL {
  const url = new URL(base)
  url.pathname += `/${encodeURIComponent(id)}${more}`
  return url
}

/** OpenAI supports background generation only for stored responses. */
export function backgroundFields(extra: JsonObject | undefined): JsonObject {
  return extra?.store === false ? {} : { background: true, store: true }
}
