import type { MillraceError, ModelEvent, ModelStream } from '../../protocol/index.ts'
import { sseReader } from '../../protocol/index.ts'
import type { HttpCall } from './http.ts'
import { broken, openStream } from './http.ts'
import type { HttpAnswer } from './http-answer.ts'
import { cutOff, streamError, tooLongEvent } from './stream-error.ts'

/** Understands the events of one answer. A wire's own file makes it; it knows nothing of bytes and sockets. */
export interface WireReader {
  /** Takes the data of one event. Throws our error if the provider reports one, or if it makes no sense. */
  read(data: string, event: string): void
  /** No more will come. If that is a good end on this wire, it is `over` afterwards. */
  end(): void
  /** The answer is complete; nothing more is read. */
  readonly over: boolean
}

/** One generation over HTTP. */
export interface Exchange {
  /** Addresses the request. Called again after an answer that the provider wants to go on with. */
  prepare(): Promise<HttpCall>
  /** Makes a reader that pushes what it understands into the list. */
  open(events: ModelEvent[], call: HttpCall): WireReader
  /** Whether one more request is needed. */
  goesOn?(): boolean
}

/**
 * Sends a request and tells what the answer says. One read of the socket costs one wait, however many events it brings. What was
 * understood before a failure is told before it is thrown: where the bytes were split makes no difference.
 */
export function streamEvents(exchange: Exchange): ModelStream {
  return {
    batches: () => batches(exchange),
    async *[Symbol.asyncIterator]() {
      for await (const events of batches(exchange)) for (const event of events) yield event
    },
  }
}

async function* batches({ prepare, open, goesOn }: Exchange): AsyncGenerator<ModelEvent[], void, undefined> {
  do {
    const answer = await openAnswer(await prepare(), open)
    const { events, wire } = answer
    try {
      while (!wire.over) {
        const failure = await answer.readOnce()
        if (events.length > 0) yield events.splice(0)
        if (failure && !wire.over) throw failure
      }
    } finally {
      answer.close()
    }
  } while (goesOn?.())
}

interface Answer {
  readonly wire: WireReader
  /** What was understood and has not been told. */
  readonly events: ModelEvent[]
  /** Gives what is to be thrown unless the answer is complete, and nothing if there may be more. */
  readOnce(): Promise<MillraceError | undefined>
  /** Lets go of the connection; nobody waits for that. */
  close(): void
}

/** More than any image a provider sends in one event. */
const longestEvent = 32 * 1024 * 1024

async function openAnswer(asked: HttpCall, open: Exchange['open']): Promise<Answer> {
  const body = await openStream(asked)
  // The conversation as this wire wants it may be large, and is not held while the answer is read.
  const call: HttpCall = { ...asked, body: {} }
  const events: ModelEvent[] = []
  const wire = open(events, call)
  const sse = sseReader(
    (data, event) => {
      if (!wire.over) wire.read(data, event)
    },
    { maxChars: longestEvent, tooLong: tooLongEvent },
  )
  return {
    wire,
    events,
    close: () => (wire.over && !call.signal.aborted ? void readToTheEnd(body) : body.close()),
    async readOnce() {
      let bytes: Uint8Array | undefined
      try {
        bytes = await body.read()
      } catch (thrown) {
        // An answer that had come to its end loses nothing with the connection.
        wire.end()
        return broken(thrown, call)
      }
      // Cancelled here, it ends as if in good order.
      if (call.signal.aborted) return broken(undefined, call)
      try {
        if (bytes) {
          sse.push(bytes)
          return undefined
        }
        sse.end()
      } catch (thrown) {
        if (!bytes) wire.end()
        return broken(thrown, call)
      }
      wire.end()
      return cutOff(call.provider)
    },
  }
}

/**
 * A connection that is read to its end can be used again; one that is cancelled a moment before it cannot. The end follows the
 * terminal event at once, or else the provider keeps the socket open.
 */
async function readToTheEnd(body: HttpAnswer): Promise<void> {
  const timer = setTimeout(body.close, 100)
  try {
    // Not for ever: a body that always has more would let no timer fire.
    for (let reads = 0; reads < 16; reads++) if (!(await body.read())) break
  } catch {
    // Broken or cancelled: it is over either way.
  } finally {
    clearTimeout(timer)
    body.close()
  }
}

/** The JSON of an event. */
export function parseFrame(data: string, provider: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    // Not in the parser's words: they quote what was sent.
    throw streamError(`${provider} sent an event that is not valid JSON (${data.length} characters)`)
  }
}
