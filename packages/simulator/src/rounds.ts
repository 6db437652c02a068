import type { JsonObject } from 'millrace'
import { messageOf } from 'millrace/internal'
import { missingRound } from 'millrace/internal/testing'
import type { ScriptRound, ScriptStep } from 'millrace/testing'
import type { Failure } from './failures.ts'
import { isJsonObject } from './json-object.ts'

export interface Round {
  readonly index: number
  readonly steps: readonly ScriptStep[]
}

/** Assigns rounds of the script to requests. */
export interface Rounds<Request> {
  /**
   * The next round, or a failure. Does not throw: an exception from a script function becomes a
   * failure.
   */
  next(request: Request, body: JsonObject): Round | Failure
  /** The response to this conversation was broken by a fault: a retry gets the same round. */
  restore(index: number, body: JsonObject): void
}

/**
 * Each request gets the next round. If a fault broke a response, the retry gets the same round. A
 * retry is recognized by its conversation, so a request that continues from a partial response gets
 * the next round.
 */
export function roundsOf<Request>(
  script: readonly ScriptRound[] | ((request: Request, index: number) => ScriptRound),
): Rounds<Request> {
  const restored: { readonly index: number; readonly key: string }[] = []
  let count = 0

  return {
    next(request, body) {
      const again = restored.findIndex(({ key }) => key === conversationKey(body))
      const [entry] = again < 0 ? [] : restored.splice(again, 1)
      const index = entry?.index ?? count++
      try {
        const round = typeof script === 'function' ? script(request, index) : script[index]
        const message = missingRound(script, round, index)
        // A missing round is the client's error; an invalid one is the script's.
        if (message !== undefined) return { status: round === undefined ? 400 : 500, message }
        return { index, steps: stepsOf(round ?? []) }
      } catch (thrown) {
        return { status: 500, message: `the script threw in round ${index + 1}: ${messageOf(thrown)}` }
      }
    },
    restore(index, body) {
      restored.push({ index, key: conversationKey(body) })
    },
  }
}

/** A round that is a string is one text step. */
export const stepsOf = (round: ScriptRound): readonly ScriptStep[] =>
  typeof round === 'string' ? [{ text: round }] : round

/**
 * The state of a conversation, independent of the wire: the number of user messages and tool
 * results.
 */
function conversationKey(body: JsonObject): string {
  const items = [body.messages ?? body.input ?? []].flat()
  let userMessages = 0
  let results = 0
  for (const item of items) {
    if (typeof item === 'string') userMessages++
    else if (!isJsonObject(item)) continue
    else if (item.role === 'tool' || item.type === 'function_call_output') results++
    else if (item.role === 'user') {
      const parts = Array.isArray(item.content) ? item.content : [item.content]
      const inside = parts.filter((part) => isJsonObject(part) && part.type === 'tool_result').length
      results += inside
      if (parts.length > inside) userMessages++
    }
  }
  return `${userMessages} ${results}`
}
