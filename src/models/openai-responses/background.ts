import type { JsonObject, ModelSettings, ProviderData } from '../../protocol/index.ts'
import { isJsonObject } from '../../protocol/index.ts'
import type { HttpCall } from '../wire/http.ts'
import type { HttpModel } from '../wire/http-model.ts'
import { send } from '../wire/send.ts'
import type { Checkpoint } from './reader.ts'

/** A cancel that is not answered by then is given up. */
const cancelMs = 10_000

/** Where a generation can be continued, if this is what our reader has told. */
export function checkpointOf({ data }: ProviderData): Checkpoint | undefined {
  const isOurs = isJsonObject(data) && typeof data.id === 'string' && typeof data.sequence === 'number'
  return isOurs ? (data as unknown as Checkpoint) : undefined
}

/** Asks for the rest of a response: `GET /responses/:id?stream=true&starting_after=N`, with what the first request asked to include. */
export function resumeCall(call: HttpCall, { id, sequence }: Checkpoint, include: unknown): HttpCall {
  const url = responseUrl(call.url, id)
  url.searchParams.set('stream', 'true')
  url.searchParams.set('starting_after', String(sequence))
  for (const field of Array.isArray(include) ? include : [])
    url.searchParams.append('include[]', String(field))
  return { ...call, url: url.href, body: undefined }
}

/** `POST /responses/:id/cancel`. Never rejects: it may be over, or the provider out of reach. */
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
    // What it would have saved is lost either way.
  }
}

/** A query, such as Azure's `?api-version=…`, stays at the end. */
function responseUrl(base: string, id: string, more = ''): URL {
  const url = new URL(base)
  url.pathname += `/${encodeURIComponent(id)}${more}`
  return url
}

/** Fields with which a response goes on without a connection. It has to be stored for that. */
export function backgroundFields(extra: JsonObject | undefined): JsonObject {
  return extra?.store === false ? {} : { background: true, store: true }
}
