import { isMillraceError } from '../../protocol/index.ts'
import { httpError } from '../http-error.ts'
import type { ModelApi, Place } from '../model-api/index.ts'
import { placeId, retryKeyOf } from '../model-api/index.ts'
import type { Caller, Route, RouteContext } from '../protocol.ts'
import { conversationRoutes, findConversation, useConversation } from './conversations.ts'
import { rejected } from './errors.ts'
import { answerHeaders } from './headers.ts'
import { listItems } from './item-list.ts'
import { withReferences } from './item-references.ts'
import type { ResponsePlace } from './response-ids.ts'
import { readApprovalId } from './response-ids.ts'
import type { ResponseObject } from './response-object.ts'
import { developerIn, storedIn, withStored } from './response-object.ts'
import type { Origin } from './response-origin.ts'
import { isAlone, originItems, originOf } from './response-origin.ts'
import type { ResponseRequest } from './response-request.ts'
import { readResponseRequest } from './response-request.ts'
import type { ResponseWriter } from './response-writer.ts'
import { framesPerEntry, isOpen, keepalive, responseWriter } from './response-writer.ts'

const prefix = 'resp'
/** Ends the id of a response with `store: false`, which is in the log, but cannot be asked for. */
const unstored = '_u'

interface FoundResponse {
  readonly place: Place
  readonly origin: Origin
}

export interface ResponseRoutesOptions {
  readonly path: string
  readonly bodyBytes: number
}

/** OpenAI's Responses and Conversations. Both are threads. */
export function responseRoutes(api: ModelApi, { path, bodyBytes }: ResponseRoutesOptions): Route[] {
  /** Finds a stored response. Throws 404. */
  async function find(caller: Caller, id: string): Promise<FoundResponse> {
    try {
      const place = await api.find(caller, prefix, id)
      const origin = await originOf(place)
      if (storedIn(origin.request)?.store !== false) return { place, origin }
    } catch (error) {
      if (!isMillraceError(error) || error.code !== 'not_found') throw error
    }
    throw httpError(404, 'not_found', `Response with id '${id}' not found.`)
  }

  /** Finds the response that a request follows. OpenAI answers 400, and not 404, if there is none. */
  async function findPrevious(caller: Caller, id: string) {
    try {
      const { place, origin } = await find(caller, id)
      const found = await caller.getThread(place.thread.id)
      return { found, after: place.start, developer: developerIn(origin.request), messages: undefined }
    } catch (error) {
      if (!isMillraceError(error) || error.code !== 'not_found') throw error
      const message = `Previous response with id '${id}' not found.`
      throw httpError(400, 'not_found', message, { param: 'previous_response_id' })
    }
  }

  /** A client that sends its whole conversation is found by what it decides about. */
  async function findAsking(caller: Caller, requestId: string, asked: ResponseRequest) {
    const { threadId, start } = readApprovalId(requestId) ?? {}
    try {
      const { thread } = await api.find(caller, prefix, `${prefix}_${threadId}_${start}`)
      const found = await caller.getThread(thread.id)
      return { found, after: start, developer: '', messages: asked.newMessages }
    } catch (error) {
      if (!isMillraceError(error) || error.code !== 'not_found') throw error
      throw rejected('input', `Approval request with id '${requestId}' not found.`)
    }
  }

  async function continued(caller: Caller, asked: ResponseRequest) {
    const { previousResponseId, conversation, approvalIds } = asked
    if (previousResponseId !== undefined) return findPrevious(caller, previousResponseId)
    if (conversation === undefined)
      return approvalIds[0] === undefined ? undefined : findAsking(caller, approvalIds[0], asked)
    const found = await findConversation(caller, conversation)
    const { info, thread } = found
    const origin = info.head > 0 ? await originOf({ thread, start: info.head }) : undefined
    return { found, after: undefined, developer: developerIn(origin?.request), messages: undefined }
  }

  async function send(context: RouteContext, asked: ResponseRequest): Promise<Place> {
    const { caller, request } = context
    const continues = await continued(caller, asked)
    const model = asked.model ?? continues?.found.info.agent
    const agent = api.agentOf(model)
    const developer = [continues?.developer, asked.developer].filter(Boolean).join('\n\n')
    const { isBackground: background, store, metadata, format = null, instructions } = asked
    const stored = {
      model: String(model),
      metadata,
      background,
      store,
      previousResponseId: asked.previousResponseId ?? null,
      conversation: asked.conversation ?? null,
      format,
      approvalIds: asked.approvalIds,
    }
    const { found, unsent } = continues
      ? await useConversation(caller, continues.found, agent)
      : { found: undefined, unsent: [] }
    return api.send(caller, {
      agent,
      messages: [...unsent, ...(continues?.messages ?? asked.messages)],
      decisions: asked.decisions,
      request: withStored(asked.request, { ...stored, instructions, developer }),
      continues: found && { found, after: continues?.after },
      threadName: request.headers.get('x-thread-id') ?? undefined,
      retryKey: retryKeyOf(request),
    })
  }

  async function writerOf({ place, origin }: FoundResponse, startingAfter?: number): Promise<ResponseWriter> {
    const { request } = origin
    const { thread, start } = place
    const id = placeId(prefix, place)
    return responseWriter({
      id: storedIn(request)?.store === false ? id + unstored : id,
      place: { threadId: thread.id, start },
      agent: (await thread.info()).agent,
      request,
      startingAfter,
    })
  }

  async function read(found: FoundResponse): Promise<ResponseWriter> {
    const writer = await writerOf(found)
    await api.readNow(found.place, writer)
    return writer
  }

  /** The response as far as it has come. */
  async function current(found: FoundResponse): Promise<ResponseObject> {
    const response = (await read(found)).result()
    if (!isOpen(response.status)) return response
    const { status } = await found.place.thread.state({ bytes: 0 })
    if (status !== 'idle') return response
    // It has ended since, or was stopped before a run has read it: then no entry says so.
    const writer = await read(found)
    writer.endUnstarted()
    return writer.result()
  }

  async function outputOf(caller: Caller, { threadId, start }: ResponsePlace) {
    return (await current(await find(caller, `${prefix}_${threadId}_${start}`))).output
  }

  async function create(context: RouteContext): Promise<Response> {
    const headers = answerHeaders(context)
    const body = await context.readJson()
    const asked = readResponseRequest(await withReferences(body, (place) => outputOf(context.caller, place)))
    const { isStream, isBackground } = asked
    // The slot first: a request that is rejected for lack of one must have no effect.
    const slot = isStream || !isBackground ? context.openStream() : undefined
    const place = await send(context, asked)
    const found = { place, origin: await originOf(place) }
    if (!slot) return Response.json(await current(found), { headers: headers(place) })
    const writer = await writerOf(found)
    if (isStream)
      return api.stream({ slot, signal: context.signal }, place, {
        writer,
        headers: headers(place),
        heartbeat: keepalive,
        fail: writer.fail,
        isBackground,
      })
    await api.complete(context, place, { writer })
    return Response.json(writer.result(), { headers: headers(place) })
  }

  async function retrieve(context: RouteContext): Promise<Response> {
    const headers = answerHeaders(context)
    const query = new URL(context.request.url).searchParams
    const isStream = query.get('stream') === 'true'
    const slot = isStream ? context.openStream() : undefined
    const found = await find(context.caller, context.params.id as string)
    const { place } = found
    if (!slot) return Response.json(await current(found), { headers: headers(place) })
    const after = Number(query.get('starting_after') ?? -1)
    if (!Number.isInteger(after)) throw rejected('starting_after', "'starting_after' must be an integer.")
    const writer = await writerOf(found, after)
    return api.stream({ slot, signal: context.signal }, place, {
      writer,
      headers: headers(place),
      heartbeat: keepalive,
      fail: writer.fail,
      // A client that resumes did not necessarily start it, and others may read it too.
      isBackground: true,
      resumeAfter: after < 0 ? undefined : Math.floor(after / framesPerEntry),
    })
  }

  async function cancel(context: RouteContext): Promise<Response> {
    const headers = answerHeaders(context)
    const found = await find(context.caller, context.params.id as string)
    const before = await current(found)
    // A later response may continue the run of one that has ended.
    const stops = isOpen(before.status)
    if (stops) await api.stop(found.place, 'canceled by the client')
    return Response.json(stops ? await current(found) : before, { headers: headers(found.place) })
  }

  async function remove(context: RouteContext): Promise<Response> {
    const id = context.params.id as string
    const headers = answerHeaders(context)
    const { place } = await find(context.caller, id)
    const { thread } = place
    if (!(await isAlone(place)))
      throw rejected(
        'response_id',
        `Response '${id}' is part of a conversation: delete 'conv_${thread.id}' instead.`,
      )
    await thread.delete()
    return Response.json({ id, object: 'response', deleted: true }, { headers: headers(place) })
  }

  async function inputItems(context: RouteContext): Promise<Response> {
    const headers = answerHeaders(context)
    const { place, origin } = await find(context.caller, context.params.id as string)
    return Response.json(listItems(originItems(place, origin), context.request), { headers: headers(place) })
  }

  return [
    { method: 'POST', path: `${path}/responses`, bodyBytes, handle: create },
    { method: 'GET', path: `${path}/responses/:id`, handle: retrieve },
    { method: 'DELETE', path: `${path}/responses/:id`, handle: remove },
    { method: 'POST', path: `${path}/responses/:id/cancel`, handle: cancel },
    { method: 'GET', path: `${path}/responses/:id/input_items`, handle: inputItems },
    ...conversationRoutes({ path, bodyBytes }),
  ]
}
