import { number } from '../format.ts'
import { oneLine } from './visible.ts'

const most = 4

/** A value in a few words, whatever its size: `{id: "ORD-42", lines: [3], 2 more}`. */
export function preview(value: unknown): string {
  if (typeof value !== 'object' || value === null) return shortly(value)
  const isList = Array.isArray(value)
  const keys = Object.keys(value)
  const words = keys.slice(0, most).map((key) => {
    const short = shortly((value as Readonly<Record<string, unknown>>)[key])
    return isList ? short : `${oneLine(key, 24)}: ${short}`
  })
  if (keys.length > most) words.push(`${number(keys.length - most)} more`)
  return isList ? `[${words.join(', ')}]` : `{${words.join(', ')}}`
}

function shortly(value: unknown): string {
  if (typeof value === 'string') return `"${oneLine(value, 24)}"`
  if (Array.isArray(value)) return `[${value.length}]`
  return typeof value === 'object' && value ? '{…}' : String(value)
}
