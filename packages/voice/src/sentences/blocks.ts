import { isSpace, kind, kindOf } from './characters.ts'
import type { Cut, CutAt } from './cut.ts'
import type { Line } from './lines.ts'
import { lineAt } from './lines.ts'
import type { SentenceSettings } from './sentence-options.ts'
import type { SoftBreaks } from './soft-breaks.ts'
import type { TextBuffer, Wait } from './text-buffer.ts'

interface BlockOptions {
  readonly settings: SentenceSettings
  readonly cut: CutAt
  readonly breaks: SoftBreaks
}

type Scan<Result> = Generator<Cut | undefined, Result, undefined>

const pipe = 124
const maxRowLength = 4000

/**
 * Reads a code block or table to its end and yields what is spoken of it. Returns undefined if the
 * line starts neither. An unclosed code block extends to the end, so that code is never half read.
 */
export function* blockAt(
  buffer: TextBuffer,
  line: Omit<Line, 'type'> & { readonly type: Line['type'] | 'code' },
  options: BlockOptions,
): Scan<number | undefined> {
  if (line.type === 'row') return yield* tableAt(buffer, line.content, options)
  if (line.type === 'fence' && line.fence) return yield* fenceAt(buffer, line.content, line.fence, options)
  return line.type === 'code' ? yield* indentedAt(buffer, line.content, options) : undefined
}

/** The end of the line, including the newline. */
function* lineEnd(buffer: TextBuffer, from: number, maxDistance = Number.POSITIVE_INFINITY): Wait<number> {
  for (let at = from; at - from < maxDistance; at++) {
    const code = yield* buffer.peek(at)
    if (code < 0) return at
    if (kindOf(code) === kind.newline) return at + 1
  }
  return -1
}

/** The end of a table row; -1 if the line does not end with a bar and so is not a row. */
function* rowEnd(buffer: TextBuffer, content: number): Wait<number> {
  const end = yield* lineEnd(buffer, content, maxRowLength)
  let last = end - 1
  while (last > content && isSpace(buffer.code(last))) last--
  return end > 0 && last > content && buffer.code(last) === pipe ? end : -1
}

function* tableAt(
  buffer: TextBuffer,
  content: number,
  { settings, cut }: BlockOptions,
): Scan<number | undefined> {
  let end = yield* rowEnd(buffer, content)
  if (end < 0) return
  for (;;) {
    if (settings.tables === 'read') yield* cut(end, 'row')
    const line = yield* lineAt(buffer, end)
    const next = line.type === 'row' ? yield* rowEnd(buffer, line.content) : -1
    if (next < 0) break
    end = next
  }
  if (settings.tables === 'skip') yield* cut(end, 'silent')
  return end
}

function* fenceAt(
  buffer: TextBuffer,
  content: number,
  fence: NonNullable<Line['fence']>,
  options: BlockOptions,
): Scan<number> {
  const { settings, cut } = options
  let at = yield* lineEnd(buffer, content)
  if (settings.code !== 'skip') yield* cut(at, settings.code === 'mention' ? 'mention' : 'silent')
  let closed = false
  while (!closed && (yield* buffer.peek(at)) >= 0) {
    closed = yield* closesAt(buffer, at, fence)
    at =
      closed || settings.code !== 'read' ? yield* lineEnd(buffer, at) : yield* readLine(buffer, at, options)
  }
  if (settings.code !== 'read' || closed) yield* cut(at, 'silent')
  return at
}

function* closesAt(
  buffer: TextBuffer,
  start: number,
  { code, length }: NonNullable<Line['fence']>,
): Wait<boolean> {
  let at = start
  while (at - start < 40 && (isGap(yield* buffer.peek(at)) || buffer.code(at) === 62)) at++
  const from = at
  while ((yield* buffer.peek(at)) === code) at++
  if (at - from < length) return false
  while (isGap(yield* buffer.peek(at))) at++
  return buffer.code(at) < 0 || kindOf(buffer.code(at)) === kind.newline
}

const isGap = (code: number) => kindOf(code) === kind.space

/** A line of code is one sentence, or more if it is too long. */
function* readLine(buffer: TextBuffer, start: number, { settings, cut, breaks }: BlockOptions): Scan<number> {
  let from = start
  for (let at = start; ; at++) {
    const code = yield* buffer.peek(at)
    const atEnd = code < 0 || kindOf(code) === kind.newline
    if (atEnd) {
      const end = code < 0 ? at : at + 1
      if (end > from) yield* cut(end, 'line')
      return end
    }
    if (isGap(code)) breaks.space(at + 1, buffer.code(at - 1))
    const end = at - from > settings.maxChars ? breaks.cut(buffer, from, at) : 0
    if (end > 0) {
      yield* cut(end, 'line')
      from = end
    }
  }
}

/** CommonMark 4.4: indented code follows an empty line and continues over empty lines. */
function* indentedAt(buffer: TextBuffer, content: number, options: BlockOptions): Scan<number> {
  const { settings, cut } = options
  if (settings.code === 'mention') yield* cut(content, 'mention')
  let at = content
  for (;;) {
    at = settings.code === 'read' ? yield* readLine(buffer, at, options) : yield* lineEnd(buffer, at)
    let next = at
    let line = yield* lineAt(buffer, next)
    while (line.type === 'blank') {
      next = line.content + 1
      line = yield* lineAt(buffer, next)
    }
    if (line.indent < 4 || line.type === 'end') break
    at = next
  }
  if (settings.code !== 'read') yield* cut(at, 'silent')
  return at
}
