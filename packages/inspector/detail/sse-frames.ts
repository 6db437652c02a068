/** One event of a stream of server-sent events. */
export interface SseFrame {
  /** Its `event:` line; empty if it has none. */
  readonly name: string
  /** All of it where it has none, such as a comment that is a sign of life. */
  readonly data: string
}

/**
 * The frames of an answer (HTML standard, "Interpreting an event stream"). For looking at, so that what a client would leave out is
 * there as well: frames without data, and the last one, which may be cut.
 */
export function sseFrames(text: string): SseFrame[] {
  const lines = text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n')
  const frames = lines.match(/(?:[^\n]+\n)*[^\n]+/g) ?? []
  return frames.map((frame) => ({
    name: valuesOf(frame, 'event').at(-1) ?? '',
    data: valuesOf(frame, 'data').join('\n') || frame,
  }))
}

function valuesOf(frame: string, field: string): string[] {
  const start = new RegExp(`^${field}(?:: ?|$)`)
  return frame.split('\n').flatMap((line) => (start.test(line) ? [line.replace(start, '')] : []))
}

/** What is new in a frame: the rest of its data from where it is no longer that of the frame before, cut where an object begins. */
export function newsOf(data: string, before: string): string {
  let same = 0
  while (same < data.length && data[same] === before[same]) same++
  const from = data.lastIndexOf('{', same)
  return from > 0 ? `…${data.slice(from)}` : data
}
