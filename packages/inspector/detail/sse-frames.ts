/** One server-sent event. */
export interface SseFrame {
  /** Its `event:` line; empty if it has none. */
  readonly name: string
  /** The `data:` lines; the whole frame if it has none, such as a keep-alive comment. */
  readonly data: string
}

/**
 * The frames of a response (HTML standard, "Interpreting an event stream"). Unlike a client, this
 * keeps frames without data and the last frame, which may be truncated.
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

/** The data of a frame from the object in which it differs from the previous frame. */
export function changedPart(data: string, before: string): string {
  let same = 0
  while (same < data.length && data[same] === before[same]) same++
  const from = data.lastIndexOf('{', same)
  return from > 0 ? `…${data.slice(from)}` : data
}
