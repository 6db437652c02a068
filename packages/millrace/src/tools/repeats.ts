import type { JsonValue, ToolResultPart } from '../protocol/index.ts'
import { isObject } from '../protocol/index.ts'

export interface RepeatLimits {
  /** The repetition at which the model is warned. */
  readonly warn: number
  /** The repetition at which the call is blocked. */
  readonly block: number
}

/**
 * Detects a model that repeats itself: the same call with the same arguments and the same result. A
 * different result resets the count. All state comes from `record`, so it can be rebuilt from the
 * log.
 */
export interface RepeatDetector {
  /** Why the call is not run again; undefined if it may run. */
  blockReason(name: string, input: JsonValue): string | undefined
  /** Records a result. Returns a note for the model, if any. */
  record(name: string, input: JsonValue, output: readonly ToolResultPart[]): string | undefined
}

export function repeatDetector({ warn, block }: RepeatLimits): RepeatDetector {
  const seen = new Map<string, { output: readonly ToolResultPart[]; times: number }>()
  /**
   * The first call of each tool, until there is a second one to compare it with: most calls in a run
   * are the only ones of their tool, and a key takes longer than the rest of this.
   */
  const firsts = new Map<string, { input: JsonValue; output: readonly ToolResultPart[] } | undefined>()

  /** Undefined if no call of this tool was recorded. */
  function keyIn(name: string, input: JsonValue): string | undefined {
    if (!firsts.has(name)) return undefined
    const first = firsts.get(name)
    if (first) seen.set(keyOf(name, first.input), { output: first.output, times: 1 })
    firsts.set(name, undefined)
    return keyOf(name, input)
  }

  return {
    blockReason(name, input) {
      const key = keyIn(name, input)
      const times = key === undefined ? 0 : (seen.get(key)?.times ?? 0)
      if (times < block - 1) return undefined
      return `Not run: this exact call has returned the same result ${times} times. Use that result, change the arguments, or do something else.`
    },
    record(name, input, output) {
      const key = keyIn(name, input)
      const before = key === undefined ? undefined : seen.get(key)
      const same = before !== undefined && JSON.stringify(before.output) === JSON.stringify(output)
      const times = same ? before.times + 1 : 1
      if (key === undefined) firsts.set(name, { input, output })
      else seen.set(key, { output, times })
      if (times < warn) return undefined
      return `[Note: this is the same call with the same result for the ${ordinal(times)} time. Repeating it will not help.]`
    },
  }
}

/** The same key for equal calls, independent of field order. */
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
