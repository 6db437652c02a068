import type { JsonObject, JsonValue, Message } from '../../protocol/index.ts'
import { isJsonObject, isMillraceError, isObject, kindOf } from '../../protocol/index.ts'
import { findBefore } from '../answers.ts'
import { httpError } from '../http-error.ts'
import type { Caller, FoundThread, NewThreadOptions, Route, RouteContext } from '../protocol.ts'
import { rejected } from './errors.ts'
import { answerHeaders } from './headers.ts'
import { listItems } from './item-list.ts'
import { readItems } from './response-input.ts'
import { itemsOf } from './response-items.ts'
import { readMetadata } from './response-request.ts'

const prefix = 'conv_'

/** What is stored with the thread of a conversation. */
interface StoredConversation {
  readonly metadata: JsonObject
  readonly createdAt: number
  /** Messages of the user that the first response answers: a thread would answer them at once. */
  readonly unsent: readonly Message[]
}

const key = 'conversation'

function storedOf({ info }: FoundThread): StoredConversation | undefined {
  const stored = info.metadata?.[key]
  return isJsonObject(stored) ? (stored as unknown as StoredConversation) : undefined
}

/** Every thread is a conversation, whatever protocol created it. */
export async function findConversation(caller: Caller, id: string): Promise<FoundThread> {
  try {
    return await caller.getThread(id.startsWith(prefix) ? id.slice(prefix.length) : '')
  } catch (error) {
    if (!isMillraceError(error) || error.code !== 'not_found') throw error
    throw httpError(404, 'not_found', `Conversation with id '${id}' not found.`)
  }
}

/**
 * Prepares a conversation for a request to an agent, and returns the messages that were created with
 * it and still have to be sent. A conversation names no model when it is created: the first
 * response decides.
 */
export async function useConversation(
  caller: Caller,
  found: FoundThread,
  agent: string,
): Promise<{ readonly found: FoundThread; readonly unsent: readonly Message[] }> {
  const { thread, info } = found
  const stored = storedOf(found)
  if (!stored || (await findBefore(thread, info.head, ({ event }) => 'request' in event)))
    return { found, unsent: [] }
  if (info.agent === agent) return { found, unsent: stored.unsent }
  const { messages } = await thread.state()
  await thread.delete()
  const { id, metadata } = info
  return { found: await caller.createThread({ id, agent, messages, metadata }), unsent: stored.unsent }
}

function conversationObject(found: FoundThread) {
  const { id, createdAt } = found.info
  const stored = storedOf(found)
  return {
    id: prefix + id,
    object: 'conversation',
    created_at: Math.floor((stored?.createdAt ?? createdAt) / 1000),
    metadata: stored?.metadata ?? {},
  }
}

/** OpenAI's Conversations: threads without a response yet, or with many. */
export function conversationRoutes({ path, bodyBytes }: { path: string; bodyBytes: number }): Route[] {
  const find = ({ caller, params }: RouteContext) => findConversation(caller, params.id as string)

  async function create(context: RouteContext): Promise<Response> {
    const headers = answerHeaders(context)
    const body = await context.readJson()
    if (!isObject(body)) throw rejected('', `The body must be a JSON object, not ${kindOf(body)}.`)
    const found = await context.caller.createThread(newConversation(body))
    return Response.json(conversationObject(found), { headers: headers() })
  }

  async function retrieve(context: RouteContext): Promise<Response> {
    const headers = answerHeaders(context)
    return Response.json(conversationObject(await find(context)), { headers: headers() })
  }

  async function update(context: RouteContext): Promise<Response> {
    await find(context)
    throw rejected('metadata', 'The metadata of a conversation cannot be changed: set it on creation.')
  }

  async function remove(context: RouteContext): Promise<Response> {
    const headers = answerHeaders(context)
    const { thread } = await find(context)
    const deleted = await thread.delete()
    const id = prefix + thread.id
    return Response.json({ id, object: 'conversation.deleted', deleted }, { headers: headers() })
  }

  async function items(context: RouteContext): Promise<Response> {
    const headers = answerHeaders(context)
    const found = await find(context)
    const { thread, info } = found
    const { unsent } = await useConversation(context.caller, found, info.agent)
    const { messages } = await thread.state()
    const list = [...messages, ...unsent].flatMap((message, index) => {
      let count = 0
      return itemsOf(message, (kind) => `${kind}_${thread.id}_m${index}_${count++}`)
    })
    return Response.json(listItems(list, context.request), { headers: headers() })
  }

  return [
    { method: 'POST', path: `${path}/conversations`, bodyBytes, handle: create },
    { method: 'GET', path: `${path}/conversations/:id`, handle: retrieve },
    { method: 'POST', path: `${path}/conversations/:id`, handle: update },
    { method: 'DELETE', path: `${path}/conversations/:id`, handle: remove },
    { method: 'GET', path: `${path}/conversations/:id/items`, handle: items },
  ]
}

function newConversation(body: Readonly<Record<string, unknown>>): NewThreadOptions {
  const given = Array.isArray(body.items) && body.items.length === 0 ? undefined : body.items
  const { messages, developer } = given ? readItems(given, 'items') : { messages: [], developer: '' }
  if (messages.at(-1)?.role === 'tool')
    throw rejected('items', 'The items of a new conversation must not end with the output of a call.')
  const isOld = messages.findLastIndex(({ role }) => role !== 'user') + 1
  const stored: StoredConversation = {
    metadata: readMetadata(body.metadata),
    createdAt: Date.now(),
    unsent: messages.slice(isOld),
  }
  return {
    messages: [
      ...(developer ? [{ role: 'system', content: developer } as const] : []),
      ...messages.slice(0, isOld),
    ],
    metadata: { [key]: stored as unknown as JsonValue },
  }
}
