/**
 * Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream): any split
 * of the bytes gives the same events. One that the connection broke off has no blank line after it and is not told.
 * `EventSource` itself cannot send a token.
 */
export interface SseReader {
  /** Throws when one event grows past all bounds. */
  push(bytes: Uint8Array): void
}

export interface SseListener {
  event(data: string, name: string): void
  /** How long the server wants a client to wait before it comes back. */
  retry(ms: number): void
}

/** Longer than any entry of a log; a line that never ends must not fill the memory. */
const longestEvent = 64 * 1024 * 1024

export function sseReader(listener: SseListener, { maxChars = longestEvent } = {}): SseReader {
  // Keeps the bytes of a character that is not complete. The byte order mark is taken away here: left to itself, the decoder of
  // Node takes a second one too if the first came alone.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let fresh = true
  /** The beginning of a line, in the pieces in which it came: joined once, so that a drip of bytes costs no more. */
  let pieces: string[] = []
  let lineChars = 0
  /** The last piece ended with CR, which ends a line by itself; an LF that follows belongs to it. */
  let afterCr = false
  let data: string[] = []
  let dataChars = 0
  let name = ''

  function readLine(line: string) {
    if (line === '') return dispatch()
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) as RegExpExecArray
    if (field === 'data') {
      data.push(value)
      dataChars += value.length + 1
      checkSize()
    } else if (field === 'event') name = value
    else if (field === 'retry' && /^\d+$/.test(value)) listener.retry(Number(value))
  }

  function dispatch() {
    if (data.length > 0) listener.event(data.join('\n'), name)
    data = []
    dataChars = 0
    name = ''
  }

  function checkSize() {
    if (lineChars + dataChars > maxChars) throw new Error(`one event is longer than ${maxChars} characters`)
  }

  return {
    push(bytes) {
      let text = decoder.decode(bytes, { stream: true })
      if (text === '') return
      if (fresh && text.startsWith('\ufeff')) text = text.slice(1)
      fresh = false
      if (afterCr && text.startsWith('\n')) text = text.slice(1)
      // What is left may be nothing at all; then the CR has had its LF.
      afterCr = text.endsWith('\r')
      const lines = text.split(/\r\n|\r|\n/)
      const rest = lines.pop() as string
      for (const line of lines) {
        const whole = pieces.length > 0 ? pieces.join('') + line : line
        pieces = []
        lineChars = 0
        readLine(whole)
      }
      if (rest === '') return
      pieces.push(rest)
      lineChars += rest.length
      checkSize()
    },
  }
}
