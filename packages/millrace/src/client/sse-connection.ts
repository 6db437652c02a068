import type { Entry, FollowOptions } from '../protocol/index.ts'
import { isMillraceError, sseReader } from '../protocol/index.ts'
import type { Connection, ConnectOptions } from './connection.ts'
import { entryIn } from './connection.ts'
import { reasonOf, streamError, timeoutError } from './errors.ts'
import type { Http } from './http.ts'
import { withTimeout } from './retry.ts'

export interface SseOptions extends Pick<FollowOptions, 'until'> {
  readonly op: string
  readonly path: string
  readonly http: Http
  readonly silenceMs: number
}

/** How long a server may take to close a response after the `end` event. */
const closeMs = 1000

/** A connection over server-sent events. Reads at most one chunk ahead of its reader. */
export async function* sseConnection(
  { op, path, http, until, silenceMs }: SseOptions,
  { after, signal, onRetryHint }: ConnectOptions,
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
      throw streamError(
        op,
        `the server answered with ${type || 'no content type'} instead of an event stream: check the URL`,
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
      { onRetry: onRetryHint },
    )
    const onTimeout = () => timeoutError(op, 'no data received', silenceMs)
    for (;;) {
      // The timeout only runs while waiting for the server: a slow reader does not count.
      const { done, value } = await withTimeout(body.read(), { op, ms: silenceMs, signal, onTimeout })
      if (done) throw streamError(op, 'the stream ended early')
      reader.push(value)
      const batch = entries
      entries = []
      if (batch.length > 0) yield batch
      if (ended) {
        // The response ends here too. Reading it to the end allows the connection to be reused.
        await withTimeout(body.read(), { op, ms: closeMs, signal, onTimeout }).catch(() => {})
        return yield 'end'
      }
    }
  } catch (thrown) {
    throw isMillraceError(thrown)
      ? thrown
      : streamError(op, `the stream was interrupted: ${reasonOf(thrown)}`, thrown)
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
    throw streamError(op, `the server sent invalid JSON: ${reasonOf(thrown)}`, thrown)
  }
  if (!entry) throw streamError(op, 'the server sent an event that is not a log entry')
  return entry
}
