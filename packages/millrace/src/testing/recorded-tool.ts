import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { tool } from '../tools/index.ts'

/** What became of one call: it returned `output`, or threw an `error`, or `hangs` until it is cancelled. */
export interface RecordedCall {
  readonly input: object
  readonly output?: unknown
  readonly error?: string
  readonly hangs?: boolean
  /** A person is asked first: `true`, or why. */
  readonly asks?: boolean | string
}

export interface RecordedTool extends Tool {
  /** What it was run with, in order. */
  readonly calls: readonly JsonObject[]
}

/**
 * A tool that answers as one did before. A call gets what was recorded for its input: the first of several for the first call
 * of that input, and so on. One for which there is nothing fails, and says so.
 */
export function recordedTool(name: string, recorded: readonly RecordedCall[]): RecordedTool {
  const calls: JsonObject[] = []
  const left = [...recorded]
  const chosen = new Map<string, RecordedCall>()
  const stub = tool({
    name,
    description: `Answers as ${name} did when this was recorded`,
    // It was good enough then. Without a check that takes its time, the tool starts the moment its call closes.
    input: { jsonSchema: { type: 'object' }, validate: (value) => ({ value: value as JsonObject }) },
    // Every call comes by here, once and in order, before a person may change its input.
    approve(input, { callId }) {
      const at = left.findIndex((one) => isDeepStrictEqual(one.input, input))
      const [found] = at === -1 ? [] : left.splice(at, 1)
      if (found) chosen.set(callId, found)
      return found?.asks
    },
    run(input, { callId }) {
      calls.push(input)
      const found = chosen.get(callId)
      if (!found) throw new Error(`nothing was recorded of '${name}' with ${JSON.stringify(input)}`)
      if (found.hangs) return new Promise(() => {})
      if (found.error !== undefined) throw new Error(found.error)
      return found.output
    },
  })
  return { ...stub, calls }
}
