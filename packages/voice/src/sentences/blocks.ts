import type { Breath } from './breath.ts'
import { isSpace, kind, kindOf } from './characters.ts'
import type { Cut, CutAt } from './cut.ts'
import type { Line } from './lines.ts'
import { lineAt } from './lines.ts'
import type { SentenceSettings } from './sentence-options.ts'
import type { Tape, Wait } from './tape.ts'

interface BlockOptions {
  readonly settings: SentenceSettings
  readonly cut: CutAt
  readonly breathing: Breath
}

type Scan<Result> = Generator<Cut | undefined, Result, undefined>

const pipe = 124
/** A row of a table is not longer. */
const longestRow = 4000

/**
 * Reads code, or a table, to its end, and gives out what is to be said of it. Undefined if the line begins neither.
 * In them nothing is a sentence: so that code is never read by half, one that is never closed goes on to the end.
 */
export function* blockAt(
  tape: Tape,
  line: Omit<Line, 'type'> & { readonly type: Line['type'] | 'code' },
  options: BlockOptions,
): Scan<number | undefined> {
  if (line.type === 'row') return yield* tableAt(tape, line.content, options)
  if (line.type === 'fence' && line.fence) return yield* fenceAt(tape, line.content, line.fence, options)
  return line.type === 'code' ? yield* indentedAt(tape, line.content, options) : undefined
}

/** Behind the end of the line that a place is in. */
function* lineEnd(tape: Tape, from: number, farthest = Number.POSITIVE_INFINITY): Wait<number> {
  for (let at = from; at - from < farthest; at++) {
    const code = yield* tape.peek(at)
    if (code < 0) return at
    if (kindOf(code) === kind.newline) return at + 1
  }
  return -1
}

/** Where a row ends; -1 if the line is none, since that ends with a bar too. */
function* rowEnd(tape: Tape, content: number): Wait<number> {
  const end = yield* lineEnd(tape, content, longestRow)
  let last = end - 1
  while (last > content && isSpace(tape.code(last))) last--
  return end > 0 && last > content && tape.code(last) === pipe ? end : -1
}

function* tableAt(tape: Tape, content: number, { settings, cut }: BlockOptions): Scan<number | undefined> {
  let end = yield* rowEnd(tape, content)
  if (end < 0) return
  for (;;) {
    if (settings.tables === 'read') yield* cut(end, 'row')
    const line = yield* lineAt(tape, end)
    const next = line.type === 'row' ? yield* rowEnd(tape, line.content) : -1
    if (next < 0) break
    end = next
  }
  if (settings.tables === 'skip') yield* cut(end, 'silent')
  return end
}

function* fenceAt(
  tape: Tape,
  content: number,
  fence: NonNullable<Line['fence']>,
  options: BlockOptions,
): Scan<number> {
  const { settings, cut } = options
  let at = yield* lineEnd(tape, content)
  if (settings.code !== 'skip') yield* cut(at, settings.code === 'mention' ? 'mention' : 'silent')
  let closed = false
  while (!closed && (yield* tape.peek(at)) >= 0) {
    closed = yield* closesAt(tape, at, fence)
    at = closed || settings.code !== 'read' ? yield* lineEnd(tape, at) : yield* readLine(tape, at, options)
  }
  if (settings.code !== 'read' || closed) yield* cut(at, 'silent')
  return at
}

function* closesAt(tape: Tape, start: number, { code, length }: NonNullable<Line['fence']>): Wait<boolean> {
  let at = start
  while (at - start < 40 && (isGap(yield* tape.peek(at)) || tape.code(at) === 62)) at++
  const from = at
  while ((yield* tape.peek(at)) === code) at++
  if (at - from < length) return false
  while (isGap(yield* tape.peek(at))) at++
  return tape.code(at) < 0 || kindOf(tape.code(at)) === kind.newline
}

const isGap = (code: number) => kindOf(code) === kind.space

/** One line of code is one sentence, or more if it is too long. */
function* readLine(tape: Tape, start: number, { settings, cut, breathing }: BlockOptions): Scan<number> {
  let from = start
  for (let at = start; ; at++) {
    const code = yield* tape.peek(at)
    const over = code < 0 || kindOf(code) === kind.newline
    if (over) {
      const end = code < 0 ? at : at + 1
      if (end > from) yield* cut(end, 'line')
      return end
    }
    if (isGap(code)) breathing.space(at + 1, tape.code(at - 1))
    const end = at - from > settings.maxChars ? breathing.cut(tape, from, at) : 0
    if (end > 0) {
      yield* cut(end, 'line')
      from = end
    }
  }
}

/** CommonMark 4.4: code by its indent, after an empty line, goes on over empty lines. */
function* indentedAt(tape: Tape, content: number, options: BlockOptions): Scan<number> {
  const { settings, cut } = options
  if (settings.code === 'mention') yield* cut(content, 'mention')
  let at = content
  for (;;) {
    at = settings.code === 'read' ? yield* readLine(tape, at, options) : yield* lineEnd(tape, at)
    let next = at
    let line = yield* lineAt(tape, next)
    while (line.type === 'blank') {
      next = line.content + 1
      line = yield* lineAt(tape, next)
    }
    if (line.indent < 4 || line.type === 'end') break
    at = next
  }
  if (settings.code !== 'read') yield* cut(at, 'silent')
  return at
}
