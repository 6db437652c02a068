import type { Fields } from '../channels/index.ts'
import {
  choiceField,
  eventHeaders,
  eventStream,
  numberField,
  positionField,
  publicError,
} from '../channels/index.ts'
import type { Entry, JsonObject, MillraceError } from '../protocol/index.ts'
import { wholeNumber } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import { entryBytes } from '../threads/index.ts'
import { refusal, reportOf } from './refusal.ts'
import type { Call, Route } from './route.ts'
import { ref } from './schemas.ts'
import type { Streams } from './streams.ts'

export interface EventAnswers {
  /** Takes a place among the open streams. Throws if there is none. */
  place(call: Call): StreamPlace
}

interface StreamPlace {
  /** An answer that goes on as the thread does, and frees the place when it ends. */
  stream(thread: Thread, from: StreamFrom): Response
  /** For one that comes to nothing. */
  free(): void
}

interface StreamFrom {
  readonly after: number
  /** Whether that is where the log ends now. */
  readonly isNow?: boolean
  readonly until?: number | 'idle'
}

export interface EventAnswersOptions {
  readonly streams: Streams
  readonly heartbeatMs: number
  readonly stuckMs: number
  readonly onError: (error: MillraceError) => void
}

export function eventAnswers({ streams, heartbeatMs, stuckMs, onError }: EventAnswersOptions): EventAnswers {
  return {
    place({ request, visitor, connection }) {
      const stop = new AbortController()
      // Where only the head is asked for, nothing goes on.
      const isHead = request.method === 'HEAD'
      const free = isHead ? () => {} : streams.open(visitor.caller, () => stop.abort())
      return { free, stream }

      function stream(thread: Thread, { after, isNow, until }: StreamFrom) {
        if (isHead) return new Response(null, { headers: eventHeaders })
        visitor.payForStream()
        const release = visitor.hold(thread.id, () => stop.abort())
        const feed = {
          entries: thread.follow({ after, until, signal: stop.signal }),
          signal: stop.signal,
          now: isNow ? after : undefined,
          ends: until !== undefined,
          heartbeatMs,
          stuckMs,
          end() {
            free()
            release()
            stop.abort()
          },
          onError: (error: unknown) => publicError(error, (error, id) => onError(reportOf(error, id))),
        }
        if (!connection) {
          // A client that goes before its answer is looked at: nobody reads or cancels that.
          if (request.signal.aborted) feed.end()
          else request.signal.addEventListener('abort', feed.end, { once: true })
          return new Response(eventStream(feed), { headers: eventHeaders })
        }
        connection.takeFeed(feed)
        return new Response(null, { headers: eventHeaders })
      }
    },
  }
}

export const eventContent: Readonly<Record<string, JsonObject>> = {
  'text/event-stream': {
    type: 'string',
    description: 'Frames `id: <seq>`, `data: <Entry>`. Comments are signs of life.',
  },
}

/** `text/event-stream` is asked for by name; anything goes for those who do not say. */
export function wantsEvents(request: Request): boolean {
  return /\btext\/event-stream\b/i.test(request.headers.get('accept') ?? '')
}

function wantsJson(request: Request): boolean {
  return !wantsEvents(request) && /\bapplication\/json\b/i.test(request.headers.get('accept') ?? '')
}

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

export const socketQuery: Fields = {
  after: positionField({
    description:
      'What comes after this number, or after now. If absent: with stream=false after now, otherwise nothing before the client asks for it.',
  }),
  stream: choiceField('true', 'false'),
}

export function eventRoutes(events: EventAnswers, answerBytes: number): Route[] {
  return [
    {
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
        const { thread, info } = await call.visitor.reach(call.params.id as string)
        const { limit, split, until } = call.query as EventsQuery
        // A browser that comes back knows better than the address it once was given.
        const asked = call.headers['last-event-id'] ?? call.query.after ?? 0
        const isNow = asked === 'now'
        const after = isNow ? info.head : Number(asked)
        checkCursor(after, info.head)
        if (!wantsJson(call.request))
          return events.place(call).stream(thread, { after, isNow, ...(until !== undefined && { until }) })
        const read = await thread.read({ after, limit, split: split === 'true' })
        const entries = read.slice(0, countWithin(read, answerBytes))
        const last = entries.at(-1)?.seq ?? after
        const head = Math.max(info.head, last)
        return Response.json({ entries, head, ...(last < head && { next: last }) })
      },
    },
    {
      method: 'GET',
      path: '/threads/:id/socket',
      name: 'openSocket',
      summary: 'The same over a WebSocket, both ways',
      query: socketQuery,
      answers: { 101: { description: 'Frames of JSON from here on' } },
      handle() {
        throw refusal(426, 'invalid_input', 'this address speaks WebSocket: ask for an upgrade')
      },
    },
  ]
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

/** A number that is not there yet belongs to another log: one that was deleted, or of another server. */
export function checkCursor(after: number, head: number) {
  if (after > head) throw refusal(400, 'invalid_input', `after is ${after}, but the log ends at ${head}`)
}
