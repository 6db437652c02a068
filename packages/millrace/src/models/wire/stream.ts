import type { MillraceError, ModelEvent, ModelStream, OnEvents, SseReader } from '../../protocol/index.ts'
import { pushedStream, sseReader } from '../../protocol/index.ts'
import type { HttpCall } from './http.ts'
import { brokenConnection, openStream } from './http.ts'
import type { HttpResponse } from './http-response.ts'
import { cutOff, streamError, tooLongEvent } from './stream-error.ts'

/** Reads the events of one answer, independent of bytes and sockets. Each API has its own. */
export interface WireReader {
  /**
   * Reads the data of one event. Throws our error if the provider reports one, or on invalid data.
   */
  read(data: string, event: string): void
  /** The stream has closed. Sets `ended` if this API allows that as the end of an answer. */
  end(): void
  /** The answer is complete; further data is ignored. */
  readonly ended: boolean
}

/** One model call over HTTP. */
export interface StreamedRequest {
  /**
   * Prepares the request. Called again if the provider paused and needs another request to
   * continue.
   */
  prepare(): Promise<HttpCall>
  /** Makes a reader that pushes model events into `events`. */
  open(events: ModelEvent[], call: HttpCall): WireReader
  /** Whether one more request is needed. */
  needsAnother?(): boolean
}

/**
 * Sends a request and passes on the events of the answer, one call per read of the socket. Events
 * read before a failure are passed on before it is thrown, no matter how the bytes were split.
 */
export function streamEvents(request: StreamedRequest): ModelStream {
  return pushedStream(async (onEvents) => {
    const { prepare, open, needsAnother } = request
    do {
      if (!(await readAnswer(await openResponse(await prepare(), open), onEvents))) return
    } while (needsAnother?.())
  })
}

interface OpenResponse {
  readonly body: HttpResponse
  readonly call: HttpCall
  readonly wire: WireReader
  readonly sse: SseReader
  /** Events that were read and not yet passed on. */
  readonly events: ModelEvent[]
}

/** Larger than any image a provider sends in one event. */
const maxEventChars = 32 * 1024 * 1024

async function openResponse(request: HttpCall, open: StreamedRequest['open']): Promise<OpenResponse> {
  const body = await openStream(request)
  // Drop the body, which may be large, while the answer is read.
  const call: HttpCall = { ...request, body: {} }
  const events: ModelEvent[] = []
  const wire = open(events, call)
  const sse = sseReader(
    (data, event) => {
      if (!wire.ended) wire.read(data, event)
    },
    { maxChars: maxEventChars, tooLong: tooLongEvent },
  )
  return { body, call, wire, sse, events }
}

/** Returns whether more events are wanted. Releases the connection in the background. */
async function readAnswer(response: OpenResponse, onEvents: OnEvents): Promise<boolean> {
  const { body, call, wire, events } = response
  try {
    while (!wire.ended) {
      let failure: MillraceError | undefined
      try {
        failure = feed(response, await body.read())
      } catch (thrown) {
        // If the answer was already complete, losing the connection does not matter.
        wire.end()
        failure = brokenConnection(thrown, call)
      }
      if (events.length > 0) {
        const wantsMore = onEvents(events.splice(0))
        if (!(typeof wantsMore === 'boolean' ? wantsMore : await wantsMore)) return false
      }
      if (failure && !wire.ended) throw failure
    }
    return true
  } finally {
    if (wire.ended && !call.signal.aborted && !body.hasEnded) void drain(body)
    else body.close()
  }
}

/**
 * Reads the next bytes, or the end. Returns the error to throw unless the answer is complete;
 * undefined if there may be more to read.
 */
function feed({ call, wire, sse }: OpenResponse, bytes: Uint8Array | undefined): MillraceError | undefined {
  // After an abort the body ends as if it were complete.
  if (call.signal.aborted) return brokenConnection(undefined, call)
  try {
    if (bytes) {
      sse.push(bytes)
      return undefined
    }
    sse.end()
  } catch (thrown) {
    if (!bytes) wire.end()
    return brokenConnection(thrown, call)
  }
  wire.end()
  return cutOff(call.provider)
}

/**
 * Reads to the end, so that the connection can be reused. The end usually follows the terminal
 * event at once; a provider that keeps the socket open is not waited for.
 */
async function drain(body: HttpResponse): Promise<void> {
  const timer = setTimeout(body.close, 100)
  try {
    // Bounded: a body that always has more data would keep the timer from firing.
    for (let reads = 0; reads < 16; reads++) if (!(await body.read())) break
  } catch {
    // Broken or canceled: nothing left to read.
  } finally {
    clearTimeout(timer)
    body.close()
  }
}

/** Parses the JSON of an event. */
export function parseFrame(data: string, provider: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    // Without the parser's message, which quotes the data.
    throw streamError(`${provider} sent an event that is not valid JSON (${data.length} characters)`)
  }
}
