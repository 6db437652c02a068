/**
 * Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream): any
 * split of the bytes gives the same events. An event without a blank line after it is emitted only by `end()`.
 *
 * `id` is not read: our entries have their number inside, and a model's answer cannot be resumed.
 */
export interface SseReader {
  /** Throws if one event exceeds `maxChars`, and what `onEvent` throws. Not to be called after that. */
  push(bytes: Uint8Array): void
  /**
   * The response has ended. Emits a last event that lacks its blank line, which some model servers leave out; whether its data is
   * complete is for the caller to find out. The specification drops such an event, so a client of our own never calls this.
   */
  end(): void
}

export interface SseOptions {
  /** Called with the milliseconds that a `retry` field asks a client to wait before it reconnects. */
  readonly onRetry?: (ms: number) => void
  /** One event may have so many characters, so that a line that never ends cannot fill the memory. */
  readonly maxChars?: number
  /** What to throw if one has more. */
  readonly tooLong?: (message: string) => Error
}

/** More than any entry of a log. */
const longestEvent = 64 * 1024 * 1024

export function sseReader(
  onEvent: (data: string, event: string) => void,
  { onRetry, maxChars = longestEvent, tooLong = Error }: SseOptions = {},
): SseReader {
  // Keeps the bytes of a character that is not complete. The byte order mark is taken away here: left to itself, the decoder of
  // Node takes a second one too if the first came alone.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** Dropped if the next text begins with it: the byte order mark, or the LF of a CR that has ended a line already. */
  let skip = '\ufeff'
  /** The beginning of a line. Engines join strings when they are first read, so a drip of bytes costs no more. */
  let begun = ''
  let data: string | undefined
  let event = ''

  function read(text: string) {
    if (!text) return
    let rest = skip && text.startsWith(skip) ? text.slice(1) : text
    skip = rest.endsWith('\r') ? '\n' : ''
    // Hardly any provider sends CR, and looking for one ending is faster than for three.
    if (rest.includes('\r')) rest = rest.replace(/\r\n?/g, '\n')
    let start = 0
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n', start)) {
      if (begun) {
        const line = begun + rest.slice(start, end)
        begun = ''
        readLine(line, 0, line.length)
      } else readLine(rest, start, end)
      start = end + 1
    }
    begun += rest.slice(start)
    if (begun.length + (data?.length ?? 0) > maxChars)
      throw tooLong(`one event has over ${maxChars} characters`)
  }

  /** The line between two places of a text. It is not cut out first: of most lines only the value is wanted. */
  function readLine(text: string, start: number, end: number) {
    if (start === end) {
      if (data !== undefined) onEvent(data, event)
      data = undefined
      event = ''
      return
    }
    // By far the most frequent lines, and ones that need no search.
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
