import type { Entry } from 'millrace/client'
import { duration } from '../format.ts'
import { preview } from '../json/preview.ts'
import { oneLine } from '../json/visible.ts'

/** The fields of an event, or of an object in it, that are shown, in this order. */
const shownFields =
  'round agent name model mode attempt outcome finish status approved ms chars part text delta value reason problem input output data event replaces code content message error callId runId resumes'.split(
    ' ',
  )

/** Fields whose values are summarized in turn. */
const nestedFields = new Set(['output', 'content', 'message', 'error'])

/** An event on one line, without its type. */
export function summaryOf(event: Entry['event']): string {
  return lineOf(event as unknown as Fields)
}

type Fields = Readonly<Record<string, unknown>>

function lineOf(fields: Fields): string {
  if (fields.type === 'image') return '[image]'
  const words = shownFields.flatMap((key) => (fields[key] === undefined ? [] : [textOf(key, fields[key])]))
  // An event of a later version may have no known fields.
  return words.join(' ') || preview(fields)
}

function textOf(key: string, value: unknown): string {
  if (typeof value === 'string') return oneLine(value)
  if (typeof value === 'number') return key === 'ms' ? duration(value) : `${key} ${value}`
  if (typeof value === 'boolean') return value ? key : `not ${key}`
  if (key === 'event') return `${(value as Entry['event']).type}: ${lineOf(value as Fields)}`
  if (!nestedFields.has(key)) return preview(value)
  return (Array.isArray(value) ? value : [value]).slice(0, 3).map(lineOf).join(' ')
}
