import { number } from '../format.ts'
import { oneLine } from './visible.ts'

const most = 4

/** A short preview of a value of any size: `{id: "ORD-42", lines: [3], 2 more}`. */
export function preview(value: unknown): string {
  if (typeof value !== 'object' || value === null) return previewItem(value)
  const isList = Array.isArray(value)
  const keys = Object.keys(value)
  const items = keys.slice(0, most).map((key) => {
    const short = previewItem((value as Readonly<Record<string, unknown>>)[key])
    return isList ? short : `${oneLine(key, 24)}: ${short}`
  })
  if (keys.length > most) items.push(`${number(keys.length - most)} more`)
  return isList ? `[${items.join(', ')}]` : `{${items.join(', ')}}`
}

function previewItem(value: unknown): string {
  if (typeof value === 'string') return `"${oneLine(value, 24)}"`
  if (Array.isArray(value)) return `[${value.length}]`
  return typeof value === 'object' && value ? '{…}' : String(value)
}
