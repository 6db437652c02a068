import type { ServerResponse } from 'node:http'
import type { Entry } from '../protocol/index.ts'
import { sseFrame } from './entry-text.ts'
import { every } from './every.ts'
import { atTurnEnd, roomIn } from './outlet.ts'

/** What goes out as server-sent events. Whoever writes it calls `end` when it is over, or when nobody listens any more. */
export interface EventFeed {
  readonly entries: AsyncIterableIterator<Entry>
  /** Aborted when the feed is to end before its entries do. */
  readonly signal: AbortSignal
  /** The number that `after=now` stands for. It is sent first, so that a client that loses the connection can come back with it. */
  readonly now?: number | undefined
  /** Where it ends by itself the client is told so, and does not come back. */
  readonly ends: boolean
  readonly heartbeatMs: number
  /** So long a client may take nothing before it is dropped. */
  readonly stuckMs: number
  /** May be called twice. */
  readonly end: () => void
  /** Told of what breaks the entries off. */
  readonly onError: (error: unknown) => void
}

export const eventHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  // Proxies of the nginx kind would gather the events instead of passing them on.
  'x-accel-buffering': 'no',
}

/** An `id` without data makes no event, but is what a browser comes back with (HTML, 9.2.6). */
const openingOf = ({ now }: EventFeed) => `${now === undefined ? '' : `id: ${now}\n`}retry: 1000\n\n`
const heartbeat = ': \n\n'
const ending = 'event: end\ndata: {}\n\n'

/** So much is gathered in one turn before it is written. */
const enough = 64 * 1024

/**
 * Writes a feed to a response of Node whose head is written. Takes the next entry only when there is room for it, so that a slow
 * client costs a buffer and no more. Resolves when the response has ended; never rejects.
 */
export async function writeEvents(response: ServerResponse, feed: EventFeed): Promise<void> {
  if (response.destroyed) return feed.end()
  let waiting: Uint8Array[] = []
  let size = 0
  const flush = () => {
    if (size === 0) return
    if (!response.destroyed) response.write(waiting.length === 1 ? waiting[0] : Buffer.concat(waiting, size))
    waiting = []
    size = 0
  }
  const endBeats = every(feed.heartbeatMs, () => {
    if (!response.writableNeedDrain) response.write(heartbeat)
  })
  response.once('close', feed.end)
  try {
    response.write(openingOf(feed))
    for await (const entry of feed.entries) {
      if (size === 0) atTurnEnd(flush)
      const bytes = sseFrame(entry)
      waiting.push(bytes)
      size += bytes.length
      if (size >= enough) flush()
      if (response.writableNeedDrain && (await roomIn(response, feed.stuckMs, feed.signal)) !== 'room') {
        response.destroy()
        return
      }
    }
    flush()
    if (feed.ends && !feed.signal.aborted) response.write(ending)
  } catch (error) {
    feed.onError(error)
  } finally {
    endBeats()
    feed.end()
    flush()
    response.end()
  }
}

/** The same for everywhere else. Takes the next entry when the reader wants more; one that cancels ends the feed. */
export function eventStream(feed: EventFeed): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  let endBeats: (() => void) | undefined
  const end = () => {
    endBeats?.()
    feed.end()
  }
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        if (!endBeats) {
          // None is added to what has not been read yet.
          endBeats = every(feed.heartbeatMs, () => {
            if (controller.desiredSize === 0) controller.enqueue(encoder.encode(heartbeat))
          })
          return controller.enqueue(encoder.encode(openingOf(feed)))
        }
        try {
          const { done, value } = await feed.entries.next()
          if (!done) return controller.enqueue(sseFrame(value))
          if (feed.ends && !feed.signal.aborted) controller.enqueue(encoder.encode(ending))
        } catch (error) {
          feed.onError(error)
        }
        end()
        controller.close()
      },
      cancel: end,
    },
    // Nothing is taken before somebody reads.
    { highWaterMark: 0 },
  )
}
