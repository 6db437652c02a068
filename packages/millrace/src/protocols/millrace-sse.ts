import type { Entry, JsonObject } from '../protocol/index.ts'
import {
  endFrame,
  entryFrame,
  eventStreamHeaders,
  heartbeatFrame,
  isTraceContext,
  wholeNumber,
} from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import { entryBytes, entryJson } from '../threads/index.ts'
import type { ApproveCommand, RespondCommand, RewindCommand, SendCommand, StopCommand } from './commands.ts'
import {
  approvalAnswerFields,
  approvalAnswerOf,
  checkRequest,
  keyField,
  resultFields,
  resultOf,
  rewindFields,
  sendFields,
  stopFields,
} from './commands.ts'
import type { Field, Fields } from './fields.ts'
import { choiceField, numberField, positionField } from './fields.ts'
import { checkCursor, httpError } from './http-error.ts'
import { encoder, sharedFrames, utf8 } from './once-per-entry.ts'
import type { Frames, Protocol, ProtocolHost, Route, RouteContext } from './protocol.ts'
import { json, ref } from './protocol.ts'

/**
 * Commands as JSON requests, and the log as server-sent events: see `docs/reference/protocol.md`.
 */
export function millraceSse(): Protocol {
  return {
    name: 'millrace-sse',
    mount: (host) => ({
      routes: [
        followEvents(host.limits.responseBytes),
        sendMessage(host),
        stopThread,
        answerApproval(host),
        respondToCall(host),
        rewindThread(host),
      ],
    }),
  }
}

const shared = sharedFrames((entry) => utf8(entryFrame(entry, entryJson(entry))))
const heartbeat = encoder.encode(heartbeatFrame)

/**
 * `now` is the number that `after=now` stands for. It is sent first, so that a client can resume
 * from it.
 */
export function eventFrames(now?: number): Frames {
  return {
    headers: eventStreamHeaders,
    // An `id` without data is not an event, but a browser reconnects with it (HTML, 9.2.6).
    open: () => `${now === undefined ? '' : `id: ${now}\n`}retry: 1000\n\n`,
    ...shared,
    end: () => endFrame,
    heartbeat,
    marksEnd: true,
  }
}

const eventContent: Readonly<Record<string, JsonObject>> = {
  'text/event-stream': {
    type: 'string',
    description: 'Events with `id: <seq>` and `data: <Entry>`. Comments are heartbeats.',
  },
}

/** Only explicit media types count, not wildcards. */
function accepts(request: Request, type: string): boolean {
  return (request.headers.get('accept') ?? '').toLowerCase().includes(type)
}

const wantsEvents = ({ request }: RouteContext) => accepts(request, 'text/event-stream')
const wantsJson = (context: RouteContext) =>
  !wantsEvents(context) && accepts(context.request, 'application/json')

const eventsQuery: Fields = {
  after: positionField({
    description: 'Start after this entry, or after the current end of the log (`now`). Defaults to 0.',
  }),
  limit: numberField({
    min: 1,
    max: 10_000,
    description: 'The approximate maximum number of entries on a JSON page.',
  }),
  // For a JSON page: return deltas as they were first written, not joined.
  split: choiceField('true', 'false'),
  until: {
    schema: {
      description:
        'End the stream when the thread is idle, or when the input with this number has been handled.',
      anyOf: [{ const: 'idle' }, { type: 'integer', minimum: 1 }],
    },
    problem: (value) =>
      value !== 'idle' && wholeNumber(1)(value) && "must be 'idle' or the number of an input",
  },
}

interface EventsQuery {
  readonly limit?: number
  readonly split?: 'true' | 'false'
  readonly until?: number | 'idle'
}

function followEvents(responseBytes: number): Route {
  return {
    method: 'GET',
    path: '/threads/:id/events',
    name: 'followEvents',
    summary: 'Follow the events of a thread as they happen, starting at any entry',
    query: eventsQuery,
    headers: {
      'last-event-id': numberField({
        min: 0,
        description: 'Start after this entry. Takes precedence over `after`.',
      }),
    },
    responses: {
      200: {
        description:
          'A stream of events, or one page of entries for clients that only accept application/json',
        content: { ...eventContent, 'application/json': ref('EntryPage') },
      },
    },
    async handle(context) {
      const { thread, info } = await context.caller.getThread(context.params.id as string)
      const { limit, split, until } = context.query as EventsQuery
      // A browser that reconnects sends a newer position than the one in its URL.
      const position = context.headers['last-event-id'] ?? context.query.after ?? 0
      const after = position === 'now' ? info.head : Number(position)
      checkCursor(after, info.head)
      if (!wantsJson(context))
        return context
          .openStream()
          .follow(thread, { after, until }, eventFrames(position === 'now' ? after : undefined))
      const read = await thread.read({ after, limit, split: split === 'true' })
      const entries = read.slice(0, countWithin(read, responseBytes))
      const last = entries.at(-1)?.seq ?? after
      const head = Math.max(info.head, last)
      return Response.json({ entries, head, ...(last < head && { next: last }) })
    },
  }
}

/** How many of the first entries fit into a response of this size; at least one. */
function countWithin(entries: readonly Entry[], bytes: number): number {
  let left = bytes
  const end = entries.findIndex((entry, index) => {
    left -= entryBytes(entry)
    return left < 0 && index > 0
  })
  return end < 0 ? entries.length : end
}

/** An invalid value is ignored, not rejected (W3C Trace Context, 3.2.1). */
const traceField: Field = {
  schema: {
    type: 'string',
    description: 'W3C Trace Context: if runs are traced, the run becomes a part of this trace.',
  },
  problem: () => false,
}

const op = 'server.fetch'

function sendMessage({ clientOptions }: ProtocolHost): Route {
  return {
    method: 'POST',
    path: '/threads/:id/messages',
    name: 'sendMessage',
    summary:
      'Send a message. A client that accepts text/event-stream gets the resulting events until the message has been handled',
    headers: { 'idempotency-key': keyField, traceparent: traceField },
    body: sendFields,
    responses: {
      200: { description: 'The events from the message on, ending with `event: end`', content: eventContent },
      202: json(ref('Written'), 'The message is stored and will be answered'),
    },
    async handle(context) {
      const { thread, info } = await context.caller.getThread(context.params.id as string)
      const { message, mode, ...body } = context.body as unknown as SendCommand
      const request = checkRequest(body.request, clientOptions(info.agent, context.caller), op)
      const options = { mode, key: keyOf(context, body), trace: traceOf(context), request }
      return writeAndFollow(context, thread, () => thread.send(message, options))
    },
  }
}

/** The response to a command that is answered by a run: its number, or the events that follow it. */
async function writeAndFollow(
  context: RouteContext,
  thread: Thread,
  write: () => Promise<number>,
): Promise<Response> {
  if (!wantsEvents(context)) return written(await write())
  // The slot first: a request that is rejected for lack of one must not have written anything.
  const stream = context.openStream()
  const seq = await write()
  return stream.follow(thread, { after: seq - 1, until: seq }, eventFrames())
}

function keyOf({ headers }: RouteContext, { key }: { readonly key?: string }): string | undefined {
  const headerKey = headers['idempotency-key'] as string | undefined
  if (headerKey !== undefined && key !== undefined && headerKey !== key)
    throw httpError(
      400,
      'invalid_input',
      'the field key and the header idempotency-key differ: send only one of them',
    )
  return headerKey ?? key
}

/** For a future version, W3C Trace Context says to read the known part and cut off the rest. */
function traceOf({ headers }: RouteContext): string | undefined {
  const { traceparent } = headers
  if (typeof traceparent !== 'string') return undefined
  const [known] = /^(?!00).{55}(?=-)/.exec(traceparent) ?? [traceparent]
  return isTraceContext(known) ? known : undefined
}

const stopThread: Route = {
  method: 'POST',
  path: '/threads/:id/stop',
  name: 'stopThread',
  summary: 'Stop the current run. Queued messages are not answered automatically',
  body: stopFields,
  responses: { 202: json(ref('Written'), 'The run will stop') },
  async handle({ caller, params, body }) {
    const { thread } = await caller.getThread(params.id as string)
    return written(await thread.stop((body as StopCommand).reason))
  },
}

function answerApproval({ clientOptions }: ProtocolHost): Route {
  return {
    method: 'POST',
    path: '/threads/:id/approvals/:callId',
    name: 'answerApproval',
    summary: 'Approve or deny a tool call. Write a slash in its id as %2F',
    body: approvalAnswerFields,
    responses: { 202: json(ref('Written'), 'The decision is stored') },
    async handle({ caller, params, body }) {
      const { thread, info } = await caller.getThread(params.id as string)
      const allowed = clientOptions(info.agent, caller)
      const answer = approvalAnswerOf(body as unknown as ApproveCommand, allowed, op)
      return written(await thread.approve(params.callId as string, answer))
    },
  }
}

function respondToCall({ clientOptions }: ProtocolHost): Route {
  return {
    method: 'POST',
    path: '/threads/:id/calls/:callId/result',
    name: 'respondToCall',
    summary: 'Send the result of a tool call that a client runs. Write a slash in its id as %2F',
    body: resultFields,
    responses: { 202: json(ref('Written'), 'The result is stored, or the call already had one') },
    async handle({ caller, params, body }) {
      const { thread, info } = await caller.getThread(params.id as string)
      const { isError, ...result } = body as unknown as RespondCommand
      const request = checkRequest(result.request, clientOptions(info.agent, caller), op)
      return written(
        await thread.respond(params.callId as string, resultOf(result, op), { isError, request }),
      )
    },
  }
}

function rewindThread({ clientOptions }: ProtocolHost): Route {
  return {
    method: 'POST',
    path: '/threads/:id/rewind',
    name: 'rewindThread',
    summary:
      'Go back to an earlier point of the conversation, to edit a message, to get another answer, or to restore what was replaced. A client that accepts text/event-stream gets the resulting events',
    headers: { 'idempotency-key': keyField },
    body: rewindFields,
    responses: {
      200: { description: 'The events from the rewind on, ending with `event: end`', content: eventContent },
      202: json(ref('Written'), 'The conversation continues from there'),
    },
    async handle(context) {
      const { thread, info } = await context.caller.getThread(context.params.id as string)
      const { before, ...body } = context.body as unknown as RewindCommand
      const request = checkRequest(body.request, clientOptions(info.agent, context.caller), op)
      const options = { key: keyOf(context, body), request }
      return writeAndFollow(context, thread, () => thread.rewind(before, options))
    },
  }
}

function written(seq: number): Response {
  return Response.json({ seq }, { status: 202 })
}
