import type { Entry, JsonObject, SendOptions } from '../protocol/index.ts'
import { isTraceContext, wholeNumber } from '../protocol/index.ts'
import { entryBytes } from '../threads/index.ts'
import type { ApproveCommand, SendCommand, StopCommand } from './commands.ts'
import { answerFields, answerIn, keyField, sendFields, stopFields } from './commands.ts'
import type { Field, Fields } from './fields.ts'
import { choiceField, numberField, positionField } from './fields.ts'
import { checkCursor, httpError } from './http-error.ts'
import { encoder, oncePerEntry } from './once-per-entry.ts'
import type { Call, Frames, Protocol, Route } from './protocol.ts'
import { json, ref } from './protocol.ts'

/** Commands as JSON, and the log as server-sent events: see `docs/PROTOCOL.md`. */
export function millraceSse(): Protocol {
  return {
    name: 'millrace-sse',
    mount: ({ limits }) => ({
      routes: [followEvents(limits.answerBytes), sendMessage, stopThread, answerApproval],
    }),
  }
}

const eventHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  // Proxies of the nginx kind would gather the events instead of passing them on.
  'x-accel-buffering': 'no',
}

/** JSON has no line ends in it, so one `data:` line is enough. LF only: some readers split at nothing else. */
const entry = oncePerEntry((entry) => encoder.encode(`id: ${entry.seq}\ndata: ${JSON.stringify(entry)}\n\n`))

/** `now` is the number that `after=now` stands for. It is sent first, so that a client that loses the connection can come back with it. */
export function eventFrames(now?: number): Frames {
  return {
    headers: eventHeaders,
    // An `id` without data makes no event, but is what a browser comes back with (HTML, 9.2.6).
    open: () => `${now === undefined ? '' : `id: ${now}\n`}retry: 1000\n\n`,
    entry,
    end: () => 'event: end\ndata: {}\n\n',
    heartbeat: ': \n\n',
  }
}

const eventContent: Readonly<Record<string, JsonObject>> = {
  'text/event-stream': {
    type: 'string',
    description: 'Frames `id: <seq>`, `data: <Entry>`. Comments are signs of life.',
  },
}

/** `text/event-stream` is asked for by name; anything goes for those who do not say. */
function accepts(request: Request, type: string): boolean {
  return (request.headers.get('accept') ?? '').toLowerCase().includes(type)
}

const wantsEvents = ({ request }: Call) => accepts(request, 'text/event-stream')
const wantsJson = (call: Call) => !wantsEvents(call) && accepts(call.request, 'application/json')

const eventsQuery: Fields = {
  after: positionField({ description: 'What comes after this number, or after now; 0 if absent.' }),
  limit: numberField({
    least: 1,
    most: 10_000,
    description: 'About how many entries a page of JSON has at most.',
  }),
  // Of a page of JSON: deltas as they were first written.
  split: choiceField('true', 'false'),
  until: {
    schema: {
      description: 'Ends when nothing is under way any more, or when the input of that number is dealt with.',
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

function followEvents(answerBytes: number): Route {
  return {
    method: 'GET',
    path: '/threads/:id/events',
    name: 'followEvents',
    summary: 'What happens in a conversation, from any number on, as it happens',
    query: eventsQuery,
    headers: {
      'last-event-id': numberField({ least: 0, description: 'What comes after this number.' }),
    },
    answers: {
      200: {
        description: 'The events; a page of them for those who accept only application/json',
        content: { ...eventContent, 'application/json': ref('EntryPage') },
      },
    },
    async handle(call) {
      const { thread, info } = await call.caller.getThread(call.params.id as string)
      const { limit, split, until } = call.query as EventsQuery
      // A browser that comes back knows better than the address it once was given.
      const asked = call.headers['last-event-id'] ?? call.query.after ?? 0
      const after = asked === 'now' ? info.head : Number(asked)
      checkCursor(after, info.head)
      if (!wantsJson(call))
        return call
          .openStream()
          .follow(thread, { after, until }, eventFrames(asked === 'now' ? after : undefined))
      const read = await thread.read({ after, limit, split: split === 'true' })
      const entries = read.slice(0, countWithin(read, answerBytes))
      const last = entries.at(-1)?.seq ?? after
      const head = Math.max(info.head, last)
      return Response.json({ entries, head, ...(last < head && { next: last }) })
    },
  }
}

/** How many of the first entries an answer of so many bytes can hold; one at least. */
function countWithin(entries: readonly Entry[], bytes: number): number {
  let left = bytes
  const end = entries.findIndex((entry, index) => {
    left -= entryBytes(entry)
    return left < 0 && index > 0
  })
  return end < 0 ? entries.length : end
}

/** By W3C Trace Context, 3.2.1, one that is not as it should be is as good as none: it is never refused. */
const traceField: Field = {
  schema: {
    type: 'string',
    description: 'W3C Trace Context: where runs are traced, the answer is a part of it.',
  },
  problem: () => false,
}

const sendMessage: Route = {
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
    const { thread } = await call.caller.getThread(call.params.id as string)
    const { message, mode, key } = call.body as unknown as SendCommand
    const headerKey = call.headers['idempotency-key'] as string | undefined
    if (headerKey !== undefined && key !== undefined && headerKey !== key)
      throw httpError(
        400,
        'invalid_input',
        'the field key and the header idempotency-key say different things',
      )
    const options: SendOptions & { trace?: string | undefined } = {
      mode,
      key: headerKey ?? key,
      trace: traceOf(call),
    }
    if (!wantsEvents(call)) return written(await thread.send(message, options))
    // Its place first: what is refused for want of one must not have been said.
    const stream = call.openStream()
    const seq = await thread.send(message, options)
    return stream.follow(thread, { after: seq - 1, until: seq }, eventFrames())
  },
}

/** Of a version to come only what this one knows is read, as W3C Trace Context has it: the rest is cut off. */
function traceOf({ headers }: Call): string | undefined {
  const { traceparent } = headers
  if (typeof traceparent !== 'string') return undefined
  const [known] = /^(?!00).{55}(?=-)/.exec(traceparent) ?? [traceparent]
  return isTraceContext(known) ? known : undefined
}

const stopThread: Route = {
  method: 'POST',
  path: '/threads/:id/stop',
  name: 'stopThread',
  summary: 'Cancels the current run; what is queued is not answered by itself',
  body: stopFields,
  answers: { 202: json(ref('Written'), 'It will stop') },
  async handle({ caller, params, body }) {
    const { thread } = await caller.getThread(params.id as string)
    return written(await thread.stop((body as StopCommand).reason))
  },
}

const answerApproval: Route = {
  method: 'POST',
  path: '/threads/:id/approvals/:callId',
  name: 'answerApproval',
  summary: 'Decides about a call that waits for a person. A slash in its id is written %2F',
  body: answerFields,
  answers: { 202: json(ref('Written'), 'Decided') },
  async handle({ caller, params, body }) {
    const { thread } = await caller.getThread(params.id as string)
    return written(await thread.approve(params.callId as string, answerIn(body as unknown as ApproveCommand)))
  },
}

function written(seq: number): Response {
  return Response.json({ seq }, { status: 202 })
}
