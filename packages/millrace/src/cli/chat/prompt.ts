import type { ApprovalRequestEvent } from '../../protocol/index.ts'
import { budgetQuestion } from '../../protocol/index.ts'
import type { Cursor, Paint, Span } from '../terminal/index.ts'
import { cleanLine, clip, escapedLine, rowBuilder, style, wrap } from '../terminal/index.ts'
import { replyHelp } from './approval-reply.ts'
import { completions, respondHelp } from './commands.ts'
import { messageRows, prompt } from './conversation-view.ts'
import type { Draft } from './editor.ts'
import type { Status } from './ui.ts'

type Row = readonly Span[]

/** The rows below the conversation, and the cursor in them. */
export interface PromptRows {
  readonly rows: readonly string[]
  readonly cursor: Cursor
}

/** How many queued messages are shown; further ones are only counted. */
const maxQueuedShown = 3

export interface PromptOptions {
  readonly draft: Draft
  readonly status: Status
  readonly width: number
  /** How many rows of the draft are shown; of a longer one, those around the cursor. */
  readonly maxDraftRows: number
  readonly paint: Paint
}

export function promptRows({ draft, status, width, maxDraftRows, paint }: PromptOptions): PromptRows {
  const above = [...queuedRows(status, width), ...approvalRows(status.approval, width)]
  const written = draftRows(draft, width, maxDraftRows)
  const hint = hintOf(draft, status)
  const below: Row[] = hint ? [[{ text: clip(hint, width), style: style.dim }]] : []
  return {
    rows: [...above, ...written.rows, ...below].map(paint),
    cursor: { row: above.length + written.row, before: paint(written.before) },
  }
}

function queuedRows({ busy, queued }: Status, width: number): Row[] {
  const shown = queued.slice(0, maxQueuedShown).flatMap(({ text, held }) => {
    // About to be answered.
    if (!busy && !held) return messageRows(text, width, style.dim)
    const why = held ? '◦ not answered yet, included with your next message: ' : '◦ queued: '
    return [[{ text: clip(`${why}${cleanLine(text)}`, width), style: style.dim }]]
  })
  const more = queued.length - maxQueuedShown
  return more > 0 ? [...shown, [{ text: `◦ and ${more} more`, style: style.dim }]] : shown
}

function approvalRows(question: ApprovalRequestEvent | undefined, width: number): Row[] {
  if (!question) return []
  const { name, input, budget } = question
  const reason = budget ? undefined : question.reason
  const text = budget ? budgetQuestion(budget, input) : `${name} ${JSON.stringify(input).slice(0, 4000)}`
  const call = clip(escapedLine(text), Math.max(width * 4, 80))
  const rest = [{ text: '  ', style: style.plain }]
  const first = [{ text: '? ', style: style.yellow }]
  return [
    ...wrap([{ text: call, style: style.bold }], width, { first, rest }),
    ...(reason
      ? wrap([{ text: escapedLine(reason), style: style.yellow }], width, { first: rest, rest })
      : []),
    ...wrap([{ text: replyHelp(question), style: style.dim }], width, { first: rest, rest }),
  ]
}

/** The draft, wrapped at the exact width, so that the cursor is where the next letter goes. */
function draftRows({ text, cursor }: Draft, width: number, most: number) {
  const all = rowsUpTo(text, width)
  const upToCursor = rowsUpTo(text.slice(0, cursor), width)
  const row = upToCursor.length - 1
  const from = Math.max(0, Math.min(row - Math.floor(most / 2), all.length - most))
  return { rows: all.slice(from, from + most), row: row - from, before: upToCursor[row] ?? [] }
}

function rowsUpTo(text: string, width: number): Row[] {
  const rows = rowBuilder(() => width)
  const rest = [{ text: '  ', style: style.plain }]
  text.split('\n').forEach((line, index) => {
    if (index > 0) rows.endLine()
    rows.startLine({ first: index === 0 ? [prompt] : rest, rest, anywhere: true })
    rows.add(line, style.plain)
  })
  return [...rows.take(), ...rows.unfinished()]
}

/** One row of help for the current state. */
function hintOf({ text }: Draft, { busy, stopping, approval, unanswered }: Status): string {
  if (text.startsWith('/')) return completions(text).join('  ')
  if (stopping) return 'stopping …'
  if (approval) return ''
  if (!busy) return ''
  if (unanswered && !text) return `${respondHelp} · Esc to stop`
  return text ? 'Enter to queue · Esc to stop' : 'Esc to stop'
}
