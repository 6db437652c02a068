import type { RunRequest } from '../../protocol/index.ts'
import { isMillraceError } from '../../protocol/index.ts'
import { findBefore } from '../answers.ts'
import type { ModelApi, ModelRequest, Place } from '../model-api/index.ts'
import type { Caller } from '../protocol.ts'
import { errorResponse } from './errors.ts'
import type { MessageRequest } from './message-request.ts'
import { changeTools } from './message-request.ts'

// Message threads (`anthropic-beta: message-threads-2026-08-12`), which the SDK's tool runner uses
// by default: after the first request, a client sends only what is new, and names the message before
// it. Tools and the system prompt are those of the first request.

/** What a request continues. Undefined if the message that it names is not known. */
export async function continuedMessage(
  api: ModelApi,
  caller: Caller,
  { previousMessageId, request, toolChanges }: MessageRequest & { readonly previousMessageId: string },
): Promise<Pick<ModelRequest, 'continues' | 'request'> | undefined> {
  const place = await findMessage(api, caller, previousMessageId)
  if (!place) return undefined
  const before = await requestAt(place)
  const tools = changeTools(before?.tools ?? [], toolChanges)
  const system = [before?.system, request.system].filter(Boolean).join('\n\n')
  return {
    continues: { found: await caller.getThread(place.thread.id), after: place.start },
    request: { ...request, ...(tools.length > 0 && { tools }), ...(system && { system }) },
  }
}

async function findMessage(api: ModelApi, caller: Caller, id: string): Promise<Place | undefined> {
  try {
    return await api.find(caller, 'msg', id)
  } catch (error) {
    if (isMillraceError(error) && error.code === 'not_found') return undefined
    throw error
  }
}

/** What the request of a message came with: with its input, or with the results it continues with. */
async function requestAt({ thread, start }: Place): Promise<RunRequest | undefined> {
  const entry = await findBefore(
    thread,
    start,
    ({ event }) =>
      event.type === 'input' ||
      event.type === 'rewind' ||
      (event.type === 'approval' && event.request !== undefined),
  )
  return entry && 'request' in entry.event ? entry.event.request : undefined
}

/** With this code, the SDK sends the whole conversation again. */
export function unknownMessage(id: string): Response {
  const message = `thread.previous_message_id: there is no message '${id}'`
  return errorResponse({ status: 404, code: 'not_found', message }, { error_code: 'thread_not_found' })
}
