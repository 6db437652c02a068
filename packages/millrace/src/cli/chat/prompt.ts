import type { ApprovalRequestEvent } from '../../protocol/index.ts'
import type { Cursor, Paint, Span } from '../terminal/index.ts'
import { cleanLine, clip, layRows, spelledLine, style, wrap } from '../terminal/index.ts'
import { completions } from './commands.ts'
import { prompt, saidRows } from './conversation-view.ts'
import type { Draft } from './editor.ts'
import type { Status } from './front.ts'
import { replyHelp } from './reply.ts'

type Row = readonly Span[]

/** What stands below the conversation, and where the cursor is in it. */
export interface PromptRows {
  readonly rows: readonly string[]
  readonly cursor: Cursor
}

/** More than so many that wait are only counted. */
const mostWaiting = 3

export interface PromptOptions {
  readonly draft: Draft
  readonly status: Status
  readonly width: number
  /** How many rows what is being written may take; of more, those around the cursor are shown. */
  readonly most: number
  readonly paint: Paint
}

export function promptRows({ draft, status, width, most, paint }: PromptOptions): PromptRows {
  const above = [...waitingRows(status, width), ...questionRows(status.question, width)]
  const written = draftRows(draft, width, most)
  const hint = hintOf(draft, status)
  const below: Row[] = hint ? [[{ text: clip(hint, width), style: style.dim }]] : []
  return {
    rows: [...above, ...written.rows, ...below].map(paint),
    cursor: { row: above.length + written.row, before: paint(written.before) },
  }
}

function waitingRows({ busy, waiting }: Status, width: number): Row[] {
  const shown = waiting.slice(0, mostWaiting).flatMap(({ text, held }) => {
    // On its way, and answered in a moment.
    if (!busy && !held) return saidRows(text, width, style.dim)
    const why = held ? '◦ not answered yet, comes with the next: ' : '◦ queued: '
    return [[{ text: clip(`${why}${cleanLine(text)}`, width), style: style.dim }]]
  })
  const more = waiting.length - mostWaiting
  return more > 0 ? [...shown, [{ text: `◦ and ${more} more`, style: style.dim }]] : shown
}

function questionRows(question: ApprovalRequestEvent | undefined, width: number): Row[] {
  if (!question) return []
  const { name, input, reason } = question
  const call = clip(spelledLine(`${name} ${JSON.stringify(input).slice(0, 4000)}`), Math.max(width * 4, 80))
  const rest = [{ text: '  ', style: style.plain }]
  const first = [{ text: '? ', style: style.yellow }]
  return [
    ...wrap([{ text: call, style: style.bold }], width, { first, rest }),
    ...(reason
      ? wrap([{ text: spelledLine(reason), style: style.yellow }], width, { first: rest, rest })
      : []),
    ...wrap([{ text: replyHelp(question), style: style.dim }], width, { first: rest, rest }),
  ]
}

/** What is being written, broken where the row is full, so that the cursor is where the next letter goes. */
function draftRows({ text, cursor }: Draft, width: number, most: number) {
  const all = rowsUpTo(text, width)
  const upToCursor = rowsUpTo(text.slice(0, cursor), width)
  const row = upToCursor.length - 1
  const from = Math.max(0, Math.min(row - Math.floor(most / 2), all.length - most))
  return { rows: all.slice(from, from + most), row: row - from, before: upToCursor[row] ?? [] }
}

function rowsUpTo(text: string, width: number): Row[] {
  const rows = layRows(() => width)
  const rest = [{ text: '  ', style: style.plain }]
  text.split('\n').forEach((line, index) => {
    if (index > 0) rows.end()
    rows.begin({ first: index === 0 ? [prompt] : rest, rest, anywhere: true })
    rows.add(line, style.plain)
  })
  return [...rows.take(), ...rows.unfinished()]
}

/** One row of help, on what can be done right now. */
function hintOf({ text }: Draft, { busy, stopping, question }: Status): string {
  if (text.startsWith('/')) return completions(text).join('  ')
  if (stopping) return 'stopping …'
  if (question) return ''
  if (!busy) return ''
  return text ? 'Enter queues it · Esc stops the answer' : 'Esc stops the answer'
}
