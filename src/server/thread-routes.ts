import type { Field, Fields } from '../channels/index.ts'
import {
  answerFields,
  approve,
  choiceField,
  keyField,
  numberField,
  objectField,
  patternField,
  required,
  send,
  sendFields,
  stop,
  stopFields,
  textField,
} from '../channels/index.ts'
import { isMillraceError, isTraceContext } from '../protocol/index.ts'
import type { App } from '../threads/index.ts'
import { type EventAnswers, eventContent, wantsEvents } from './event-answers.ts'
import { refusal } from './refusal.ts'
import type { Call, Route } from './route.ts'
import { json } from './route.ts'
import { ref } from './schemas.ts'
import { threadIdPattern } from './visitors.ts'

const idField = patternField({
  pattern: threadIdPattern,
  says: '1 to 128 letters, digits, _, - or .',
  description: 'A UUID, where the server asks who you are; made up if absent.',
})

const createFields: Fields = {
  id: idField,
  agent: textField({ most: 256, description: "The app's first if absent." }),
  metadata: objectField(),
}
const forkFields: Fields = {
  at: required(numberField({ least: 0, description: 'The number of the last entry that is taken along.' })),
  id: idField,
}
const listFields: Fields = {
  limit: numberField({ least: 1, most: 1000, description: '50 if absent.' }),
  cursor: textField({ most: 1000, description: 'The next of the page before.' }),
  agent: textField({ most: 256 }),
  status: choiceField('idle', 'queued', 'running', 'waiting'),
  search: textField({
    most: 256,
    description: 'Words that must all occur in title, id, agent or the values of the metadata.',
  }),
}

const viewFields: Fields = {
  before: numberField({
    least: 1,
    description: 'Messages before this one: the earlier.messages of an answer.',
  }),
}

/** By W3C Trace Context, 3.2.1, one that is not as it should be is as good as none: it is never refused. */
const traceField: Field = {
  schema: {
    type: 'string',
    description: 'W3C Trace Context: where runs are traced, the answer is a part of it.',
  },
  problem: () => false,
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** What can be done with threads. */
export function threadRoutes(app: App, events: EventAnswers, answerBytes: number): Route[] {
  /**
   * All ids of a store are one namespace, so whoever may choose them can find out which are taken. Where there are several users an
   * id must therefore be one that cannot be guessed; then a conflict tells nothing to those who do not know it already.
   */
  function checkChosenId(id: string | undefined, { visitor }: Call) {
    if (id !== undefined && visitor.user !== undefined && !uuid.test(id))
      throw refusal(
        400,
        'invalid_input',
        "the field 'id' must be a UUID here, so that nobody can guess it; leave it out to have one made up",
      )
  }

  return [
    {
      method: 'POST',
      path: '/threads',
      name: 'createThread',
      summary: 'Begins a conversation',
      body: createFields,
      answers: { 201: json(ref('ThreadInfo'), 'It is there') },
      async handle(call) {
        const { id, ...options } = call.body as { id?: string; agent?: string; metadata?: never }
        const { user, caller } = call.visitor
        checkChosenId(id, call)
        const thread = app.thread(id, { ...options, user, caller })
        const info = await thread.create({ anew: true }).catch(asTaken)
        return Response.json(info, { status: 201, headers: { location: `/threads/${info.id}` } })
      },
    },
    {
      method: 'GET',
      path: '/threads',
      name: 'listThreads',
      summary: 'Your conversations, those changed last first',
      query: listFields,
      answers: { 200: json(ref('ThreadPage'), 'A page') },
      handle: async ({ visitor, query }) => Response.json(await visitor.list(query)),
    },
    {
      method: 'GET',
      path: '/threads/:id',
      name: 'getThread',
      summary: 'A conversation: messages, status, what waits for a person, usage',
      query: viewFields,
      answers: { 200: json(ref('ThreadView'), 'As it is now') },
      async handle({ visitor, params, query }) {
        const { thread } = await visitor.reach(params.id as string)
        return Response.json(await thread.state({ ...query, bytes: answerBytes }))
      },
    },
    {
      method: 'DELETE',
      path: '/threads/:id',
      name: 'deleteThread',
      summary: 'Deletes a conversation with everything in it',
      answers: { 204: { description: 'It is gone' } },
      async handle({ visitor, params }) {
        const { thread } = await visitor.reach(params.id as string)
        await thread.delete()
        return new Response(null, { status: 204 })
      },
    },
    {
      method: 'POST',
      path: '/threads/:id/messages',
      name: 'sendMessage',
      summary: 'Says something. A client that accepts text/event-stream gets what comes of it, up to its end',
      headers: { 'idempotency-key': keyField, traceparent: traceField },
      body: sendFields,
      answers: {
        200: { description: 'The events from there on, ending with `event: end`', content: eventContent },
        202: json(ref('Written'), 'It is durable and will be answered'),
      },
      async handle(call) {
        const { thread } = await call.visitor.reach(call.params.id as string)
        const command = call.body as { message: string; key?: string }
        const key = call.headers['idempotency-key'] as string | undefined
        if (key !== undefined && command.key !== undefined && key !== command.key)
          throw refusal(
            400,
            'invalid_input',
            'the field key and the header idempotency-key say different things',
          )
        const trace = traceOf(call)
        const say = () => send(thread, { ...command, ...(key !== undefined && { key }), trace })
        if (!wantsEvents(call.request)) return written(await say())
        // Its place first: what is refused for want of one must not have been said.
        const place = events.place(call)
        try {
          const seq = await say()
          return place.stream(thread, { after: seq - 1, until: seq })
        } catch (error) {
          place.free()
          throw error
        }
      },
    },
    {
      method: 'POST',
      path: '/threads/:id/stop',
      name: 'stopThread',
      summary: 'Cancels the current run; what is queued is not answered by itself',
      body: stopFields,
      answers: { 202: json(ref('Written'), 'It will stop') },
      async handle({ visitor, params, body }) {
        const { thread } = await visitor.reach(params.id as string)
        return written(await stop(thread, body))
      },
    },
    {
      method: 'POST',
      path: '/threads/:id/approvals/:callId',
      name: 'answerApproval',
      summary: 'Decides about a call that waits for a person. A slash in its id is written %2F',
      body: answerFields,
      answers: { 202: json(ref('Written'), 'Decided') },
      async handle({ visitor, params, body }) {
        const { thread } = await visitor.reach(params.id as string)
        const callId = params.callId as string
        return written(await approve(thread, { ...(body as { approved: boolean }), callId }))
      },
    },
    {
      method: 'POST',
      path: '/threads/:id/fork',
      name: 'forkThread',
      summary: 'A new conversation that begins as this one does',
      body: forkFields,
      answers: { 201: json(ref('ThreadInfo'), 'It is there') },
      async handle(call) {
        const { visitor, params } = call
        const { at, id } = call.body as { at: number; id?: string }
        const { thread } = await visitor.reach(params.id as string)
        checkChosenId(id, call)
        const { user, caller } = visitor
        const fork = await thread
          .fork(at, {
            ...(id !== undefined && { id }),
            ...(user !== undefined && { user }),
            ...(caller !== undefined && { caller }),
          })
          .catch(asTaken)
        return Response.json(await fork.info(), {
          status: 201,
          headers: { location: `/threads/${fork.id}` },
        })
      },
    },
  ]
}

/** Of a version to come only what this one knows is read, as W3C Trace Context has it: the rest is cut off. */
function traceOf({ headers }: Call): string | undefined {
  const { traceparent } = headers
  if (typeof traceparent !== 'string') return undefined
  const [known] = /^(?!00).{55}(?=-)/.exec(traceparent) ?? [traceparent]
  return isTraceContext(known) ? known : undefined
}

/** The same words whoever it belongs to. */
function taken() {
  return refusal(409, 'conflict', 'there is a thread with that id: choose another, or leave it out')
}

function asTaken(error: unknown): never {
  throw isMillraceError(error) && error.code === 'conflict' ? taken() : error
}

function written(seq: number): Response {
  return Response.json({ seq }, { status: 202 })
}
