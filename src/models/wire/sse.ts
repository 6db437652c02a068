import { MillraceError } from '../../protocol/index.ts'

/**
 * Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream): any
 * split of the bytes gives the same events. It differs from the specification in one thing: a last event with no blank line
 * after it is told too, since servers forget that line; whoever reads it finds out whether the data is whole.
 *
 * `id` and `retry` are read over: an answer of a model cannot be taken up again in the middle.
 */
export interface SseReader {
  push(bytes: Uint8Array): void
  /** The connection has ended in good order. */
  end(): void
}

/** Longer than any picture a provider sends in one event; a line that never ends must not fill the memory. */
const longestEvent = 32 * 1024 * 1024

export function sseReader(
  onEvent: (data: string, event: string) => void,
  { maxChars = longestEvent }: { readonly maxChars?: number } = {},
): SseReader {
  // Keeps the bytes of a character that is not complete. The byte order mark is taken away here: left to itself, the decoder of
  // Node takes a second one too if the first came alone.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let fresh = true
  /** The beginning of a line, in the pieces in which it came: joined once, so that a drip of bytes costs no more. */
  let pieces: string[] = []
  let held = 0
  /** The last piece ended with CR, which ends a line by itself; an LF that follows belongs to it. */
  let afterCr = false
  let data: string | undefined
  let event = ''

  function read(text: string) {
    let rest = text
    if (fresh && rest !== '') {
      fresh = false
      if (rest.startsWith('\ufeff')) rest = rest.slice(1)
    }
    if (afterCr && rest !== '') {
      if (rest.startsWith('\n')) rest = rest.slice(1)
      afterCr = false
    }
    // Hardly any provider sends CR, and looking for one ending is faster than for three.
    if (rest.includes('\r')) {
      afterCr = rest.endsWith('\r')
      rest = rest.replace(/\r\n?/g, '\n')
    }
    let start = 0
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n', start)) {
      if (pieces.length === 0) readLine(rest, start, end)
      else readWhole(rest.slice(start, end))
      start = end + 1
    }
    if (start < rest.length) {
      pieces.push(start === 0 ? rest : rest.slice(start))
      held += rest.length - start
      checkSize()
    }
  }

  /** A line that came in pieces. */
  function readWhole(end: string) {
    const line = pieces.join('') + end
    pieces = []
    held = 0
    readLine(line, 0, line.length)
  }

  /** The line between two places of a text. It is not cut out first: of most lines only the value is wanted. */
  function readLine(text: string, start: number, end: number) {
    if (start === end) return dispatch()
    // By far the most frequent lines, and ones that need no search.
    if (text.startsWith('data: ', start)) return addData(text.slice(start + 6, end))
    if (text.startsWith('event: ', start)) {
      event = text.slice(start + 7, end)
      return
    }
    const line = text.slice(start, end)
    const colon = line.indexOf(':')
    if (colon === 0) return
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') addData(value)
    else if (name === 'event') event = value
  }

  function addData(value: string) {
    data = data === undefined ? value : `${data}\n${value}`
    checkSize()
  }

  function dispatch() {
    const told = data
    const name = event
    data = undefined
    event = ''
    if (told !== undefined) onEvent(told, name)
  }

  function checkSize() {
    if (held + (data?.length ?? 0) <= maxChars) return
    throw new MillraceError({
      op: 'model.stream',
      code: 'stream_error',
      message: `the provider sent one event of more than ${maxChars} characters`,
      // It would most likely come again, and cost as much.
      retryable: false,
    })
  }

  return {
    push: (bytes) => read(decoder.decode(bytes, { stream: true })),
    end() {
      read(decoder.decode())
      if (pieces.length > 0) readWhole('')
      dispatch()
    },
  }
}
