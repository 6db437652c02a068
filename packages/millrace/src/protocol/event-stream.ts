import type { Entry } from './events.ts'

// The log as server-sent events, as servers and single runs send it: see
// docs/reference/protocol.md. LF only: some readers split at nothing else.

export const eventStreamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  // nginx and similar proxies would buffer the events.
  'x-accel-buffering': 'no',
}

/** JSON has no line breaks, so one `data:` line is enough. */
export function entryFrame(entry: Entry, json: string = JSON.stringify(entry)): string {
  return `id: ${entry.seq}\ndata: ${json}\n\n`
}

/** Sent after the last entry, if the stream has reached the end that the client asked for. */
export const endFrame = 'event: end\ndata: {}\n\n'

/** A comment. Readers skip it, and proxies count it as data. */
export const heartbeatFrame = ': \n\n'
