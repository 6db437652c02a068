import type { Entry } from 'millrace/client'
import { duration } from '../format.ts'
import { preview } from '../json/preview.ts'
import { oneLine } from '../json/visible.ts'

/** What is told of an event, or of something in it, in this order. Its type stands beside it. */
const told =
  'round agent name model mode attempt outcome finish status approved ms chars part text delta value reason problem input output data event replaces code content message error callId runId resumes'.split(
    ' ',
  )

/** Those in which there is something to tell again. */
const deep = new Set(['output', 'content', 'message', 'error'])

/** What an event says, in one line. */
export function summaryOf(event: Entry['event']): string {
  return lineOf(event as unknown as Fields)
}

type Fields = Readonly<Record<string, unknown>>

function lineOf(fields: Fields): string {
  if (fields.type === 'image') return '[image]'
  const words = told.flatMap((key) => (fields[key] === undefined ? [] : [wordsOf(key, fields[key])]))
  // There is nothing in it that is known where it is of a later version than this page.
  return words.join(' ') || preview(fields)
}

function wordsOf(key: string, value: unknown): string {
  if (typeof value === 'string') return oneLine(value)
  if (typeof value === 'number') return key === 'ms' ? duration(value) : `${key} ${value}`
  if (typeof value === 'boolean') return value ? key : `not ${key}`
  if (key === 'event') return `${(value as Entry['event']).type}: ${lineOf(value as Fields)}`
  if (!deep.has(key)) return preview(value)
  return (Array.isArray(value) ? value : [value]).slice(0, 3).map(lineOf).join(' ')
}
