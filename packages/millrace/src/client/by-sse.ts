import type { Entry, FollowOptions } from '../protocol/index.ts'
import { isMillraceError, sseReader } from '../protocol/index.ts'
import type { Connection, Place } from './connection.ts'
import { entryIn } from './connection.ts'
import { broken, reasonOf, tooSlow } from './failures.ts'
import type { Http } from './http.ts'
import { within } from './patience.ts'

export interface SseOptions extends Pick<FollowOptions, 'until'> {
  readonly op: string
  readonly path: string
  readonly http: Http
  readonly silenceMs: number
}

/** So long a server may take to end a response after it has told its end. */
const endMs = 1000

/** A connection over server-sent events. It reads no further than its reader does, but for one chunk. */
export async function* bySse(
  { op, path, http, until, silenceMs }: SseOptions,
  { after, signal, onRetryWish }: Place,
): Connection {
  const controller = new AbortController()
  const abort = () => controller.abort()
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  let body: ReadableStreamDefaultReader<Uint8Array> | undefined
  try {
    const response = await http.open({
      op,
      path: `${path}/events`,
      query: { after, until },
      signal: controller.signal,
    })
    const type = response.headers.get('content-type') ?? ''
    if (!response.body || !/^text\/event-stream\b/i.test(type))
      throw broken(
        op,
        `the server answered with ${type || 'nothing'} and not with a stream of events: is the address right?`,
      )
    yield []

    body = response.body.getReader()
    let entries: Entry[] = []
    let ended = false
    const reader = sseReader(
      (data, name) => {
        if (name === 'end') ended = true
        else if (name === '' && !ended) entries.push(parse(op, data))
      },
      { onRetry: onRetryWish },
    )
    const tooLong = () => tooSlow(op, 'nothing came', silenceMs)
    for (;;) {
      // The clock runs only while somebody waits: a reader that takes its time is no silence of the server's.
      const { done, value } = await within(body.read(), { op, ms: silenceMs, signal, tooLong })
      if (done) throw broken(op, 'the stream has ended')
      reader.push(value)
      const whole = entries
      entries = []
      if (whole.length > 0) yield whole
      if (ended) {
        // The response ends here too. Read to its end, its connection is good for the next request.
        await within(body.read(), { op, ms: endMs, signal, tooLong }).catch(() => {})
        return yield 'end'
      }
    }
  } catch (thrown) {
    throw isMillraceError(thrown) ? thrown : broken(op, `the stream broke off: ${reasonOf(thrown)}`, thrown)
  } finally {
    signal.removeEventListener('abort', abort)
    abort()
    body?.cancel().catch(() => {})
  }
}

function parse(op: string, data: string): Entry {
  let entry: Entry | undefined
  try {
    entry = entryIn(JSON.parse(data))
  } catch (thrown) {
    throw broken(op, `the server sent what is not JSON: ${reasonOf(thrown)}`, thrown)
  }
  if (!entry) throw broken(op, 'the server sent what is not an entry of a log')
  return entry
}
