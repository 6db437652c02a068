/**
 * Reads server-sent events, however the bytes are split
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream). An
 * event without a blank line after it is emitted only by `end()`.
 *
 * `id` is ignored: our entries carry their number in the data, and a model's answer cannot be
 * resumed.
 */
export interface SseReader {
  /**
   * Throws if an event exceeds `maxChars`, and rethrows errors of `onEvent`. Do not call it after
   * that.
   */
  push(bytes: Uint8Array): void
  /**
   * Call when the response has ended. Emits a last event that lacks its blank line, which some
   * model servers leave out; the caller has to check whether its data is complete. The
   * specification drops such an event, so our own client never calls this.
   */
  end(): void
}

export interface SseOptions {
  /**
   * Called with the milliseconds that a `retry` field asks a client to wait before it reconnects.
   */
  readonly onRetry?: (ms: number) => void
  /**
   * The maximum number of characters of an event, so that an endless line cannot exhaust memory.
   */
  readonly maxChars?: number
  /** Creates the error to throw if an event is longer. */
  readonly tooLong?: (message: string) => Error
}

/** Larger than any entry of a log. */
const maxEventChars = 64 * 1024 * 1024

export function sseReader(
  onEvent: (data: string, event: string) => void,
  { onRetry, maxChars = maxEventChars, tooLong = Error }: SseOptions = {},
): SseReader {
  // Buffers the bytes of an incomplete character. The byte order mark is removed below: Node's
  // decoder would also remove a second one if the first arrived in a chunk of its own.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /**
   * Dropped if the next text starts with it: the byte order mark, or the LF after a CR that already
   * ended a line.
   */
  let skip = '\ufeff'
  /**
   * The start of an incomplete line. Engines join strings lazily, so many small chunks cost no more
   * than one.
   */
  let partialLine = ''
  let data: string | undefined
  let event = ''

  function read(text: string) {
    if (!text) return
    let rest = skip && text.startsWith(skip) ? text.slice(1) : text
    skip = rest.endsWith('\r') ? '\n' : ''
    // Hardly any provider sends CR, and searching for one line ending is faster than for three.
    if (rest.includes('\r')) rest = rest.replace(/\r\n?/g, '\n')
    let start = 0
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n', start)) {
      if (partialLine) {
        const line = partialLine + rest.slice(start, end)
        partialLine = ''
        readLine(line, 0, line.length)
      } else readLine(rest, start, end)
      start = end + 1
    }
    partialLine += rest.slice(start)
    if (partialLine.length + (data?.length ?? 0) > maxChars)
      throw tooLong(`an event exceeds ${maxChars} characters`)
  }

  /**
   * Reads the line `text[start, end)`. It is not sliced first, since most lines only need their
   * value.
   */
  function readLine(text: string, start: number, end: number) {
    if (start === end) {
      if (data !== undefined) onEvent(data, event)
      data = undefined
      event = ''
      return
    }
    // By far the most common lines, handled without a regular expression.
    if (text.startsWith('data: ', start)) return readField('data', text.slice(start + 6, end))
    if (text.startsWith('event: ', start)) return readField('event', text.slice(start + 7, end))
    const [, name, value] = /([^:]*):? ?(.*)/s.exec(text.slice(start, end)) as unknown as [0, string, string]
    readField(name, value)
  }

  function readField(name: string, value: string) {
    if (name === 'data') data = data === undefined ? value : `${data}\n${value}`
    else if (name === 'event') event = value
    else if (name === 'retry' && /^\d+$/.test(value)) onRetry?.(Number(value))
  }

  return {
    push: (bytes) => read(decoder.decode(bytes, { stream: true })),
    end: () => read(`${decoder.decode()}\n\n`),
  }
}
