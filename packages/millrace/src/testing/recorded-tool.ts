import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { tool } from '../tools/index.ts'

/**
 * The result of one call: it returned `output`, threw an `error`, or `hangs` until it is canceled.
 */
export interface RecordedCall {
  readonly input: object
  readonly output?: unknown
  readonly error?: string
  readonly hangs?: boolean
  /** Whether approval is asked first: `true`, or the reason. */
  readonly asks?: boolean | string
}

export interface RecordedTool extends Tool {
  /** The inputs it was run with, in order. */
  readonly calls: readonly JsonObject[]
}

/**
 * A tool that replays recorded results. A call gets the result recorded for its input; if there are
 * several, each call with that input gets the next one. A call without a recorded result fails.
 */
export function recordedTool(name: string, recorded: readonly RecordedCall[]): RecordedTool {
  const calls: JsonObject[] = []
  const remaining = [...recorded]
  const chosen = new Map<string, RecordedCall>()
  const stub = tool({
    name,
    description: `Returns what ${name} returned when this was recorded`,
    // The input was accepted when it was recorded. Without asynchronous validation, the tool starts
    // the moment its call closes.
    input: { jsonSchema: { type: 'object' }, validate: (value) => ({ value: value as JsonObject }) },
    // Called for each call once and in order, before a person may change its input.
    approve(input, { callId }) {
      const at = remaining.findIndex((one) => isDeepStrictEqual(one.input, input))
      const [found] = at === -1 ? [] : remaining.splice(at, 1)
      if (found) chosen.set(callId, found)
      return found?.asks
    },
    run(input, { callId }) {
      calls.push(input)
      const found = chosen.get(callId)
      if (!found) throw new Error(`no call of '${name}' was recorded with the input ${JSON.stringify(input)}`)
      if (found.hangs) return new Promise(() => {})
      if (found.error !== undefined) throw new Error(found.error)
      return found.output
    },
  })
  return { ...stub, calls }
}
