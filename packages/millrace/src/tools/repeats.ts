import type { JsonValue, ToolResultPart } from '../protocol/index.ts'
import { isObject } from '../protocol/index.ts'

export interface RepeatLimits {
  /** The model is told from this time on. */
  readonly warn: number
  /** The call is not run any more from this time on. */
  readonly refuse: number
}

/**
 * Notices a model that runs in circles: the same call with the same arguments and the same result. A result that differs
 * starts the count anew. All it knows comes from `record`, so it is a fold of the log like everything else.
 */
export interface RepeatGuard {
  /** Why the call should not be run once more; undefined if it may. */
  refusal(name: string, input: JsonValue): string | undefined
  /** Takes a result; gives the note the model should read with it, if any. */
  record(name: string, input: JsonValue, output: readonly ToolResultPart[]): string | undefined
}

export function repeatGuard({ warn, refuse }: RepeatLimits): RepeatGuard {
  const seen = new Map<string, { output: readonly ToolResultPart[]; times: number }>()
  return {
    refusal(name, input) {
      const times = seen.get(keyOf(name, input))?.times ?? 0
      if (times < refuse - 1) return undefined
      return `Not run: this exact call has given the same result ${times} times. Use that result, change the arguments, or do something else.`
    },
    record(name, input, output) {
      const key = keyOf(name, input)
      const before = seen.get(key)
      const same = before !== undefined && JSON.stringify(before.output) === JSON.stringify(output)
      const times = same ? before.times + 1 : 1
      seen.set(key, { output, times })
      if (times < warn) return undefined
      return `[Note: this is the same call with the same result for the ${ordinal(times)} time. Repeating it will not help.]`
    },
  }
}

/** One key for one call, whatever order its fields were written in. */
function keyOf(name: string, input: JsonValue): string {
  return `${name} ${JSON.stringify(input, (_, value) => (isObject(value) ? sortKeys(value) : value))}`
}

function sortKeys(value: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries)
}

function ordinal(times: number): string {
  const ending =
    times % 100 >= 11 && times % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][times % 10] ?? 'th')
  return `${times}${ending}`
}
