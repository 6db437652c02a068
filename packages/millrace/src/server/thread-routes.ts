import type { Call, Fields, Route } from '../protocols/index.ts'
import {
  choiceField,
  httpError,
  json,
  numberField,
  objectField,
  patternField,
  ref,
  required,
  textField,
} from '../protocols/index.ts'
import { asTaken, threadIdPattern } from './visitors.ts'

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

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** What can be done with threads. */
export function threadRoutes(answerBytes: number): Route[] {
  /**
   * All ids of a store are one namespace, so whoever may choose them can find out which are taken. Where there are several users an
   * id must therefore be one that cannot be guessed; then a conflict tells nothing to those who do not know it already.
   */
  function checkChosenId(id: string | undefined, { caller }: Call) {
    if (id !== undefined && caller.user !== undefined && !uuid.test(id))
      throw httpError(
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
        checkChosenId(id, call)
        const { info } = await call.caller.createThread({ id, ...options })
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
      handle: async ({ caller, query }) => Response.json(await caller.listThreads(query)),
    },
    {
      method: 'GET',
      path: '/threads/:id',
      name: 'getThread',
      summary: 'A conversation: messages, status, what waits for a person, usage',
      query: viewFields,
      answers: { 200: json(ref('ThreadView'), 'As it is now') },
      async handle({ caller, params, query }) {
        const { thread } = await caller.getThread(params.id as string)
        return Response.json(await thread.state({ ...query, bytes: answerBytes }))
      },
    },
    {
      method: 'DELETE',
      path: '/threads/:id',
      name: 'deleteThread',
      summary: 'Deletes a conversation with everything in it',
      answers: { 204: { description: 'It is gone' } },
      async handle({ caller, params }) {
        const { thread } = await caller.getThread(params.id as string)
        await thread.delete()
        return new Response(null, { status: 204 })
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
        const { caller, params } = call
        const { at, id } = call.body as { at: number; id?: string }
        const { thread } = await caller.getThread(params.id as string)
        checkChosenId(id, call)
        const { user, key } = caller
        const fork = await thread
          .fork(at, {
            ...(id !== undefined && { id }),
            ...(user !== undefined && { user }),
            ...(key !== undefined && { caller: key }),
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
