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

/** Which round of the script a request gets. */
export interface Rounds<Request> {
  /** The steps, or why there are none. Does not throw: what a script's function throws is a failure of the server. */
  next(request: Request, body: JsonObject): Round | Failure
  /** The answer to this conversation broke on the way: the same one again gets the same round again. */
  giveBack(index: number, body: JsonObject): void
}

/**
 * Each request gets the next round. Faults are no part of a script: when one has spoiled an answer, the request that is sent
 * again gets the same round. It is known by its conversation, so that one which goes on from what did arrive gets the next.
 */
export function roundsOf<Request>(
  script: readonly ScriptRound[] | ((request: Request, index: number) => ScriptRound),
): Rounds<Request> {
  const spoiled: { readonly index: number; readonly key: string }[] = []
  let count = 0

  return {
    next(request, body) {
      const again = spoiled.findIndex(({ key }) => key === conversationKey(body))
      const [entry] = again < 0 ? [] : spoiled.splice(again, 1)
      const index = entry?.index ?? count++
      try {
        const round = typeof script === 'function' ? script(request, index) : script[index]
        const message = missingRound(script, round, index)
        // Not written is the fault of who asks for more; badly written is that of the script.
        if (message !== undefined) return { status: round === undefined ? 400 : 500, message }
        return { index, steps: stepsOf(round ?? []) }
      } catch (thrown) {
        return { status: 500, message: `the script threw in round ${index + 1}: ${messageOf(thrown)}` }
      }
    },
    giveBack(index, body) {
      spoiled.push({ index, key: conversationKey(body) })
    },
  }
}

/** A round that is only words is one step. */
export const stepsOf = (round: ScriptRound): readonly ScriptStep[] =>
  typeof round === 'string' ? [{ text: round }] : round

/** How far a conversation has come, the same on every wire: what was said by people, and which results are in. */
function conversationKey(body: JsonObject): string {
  const items = [body.messages ?? body.input ?? []].flat()
  let said = 0
  let results = 0
  for (const item of items) {
    if (typeof item === 'string') said++
    else if (!isJsonObject(item)) continue
    else if (item.role === 'tool' || item.type === 'function_call_output') results++
    else if (item.role === 'user') {
      const parts = Array.isArray(item.content) ? item.content : [item.content]
      const inside = parts.filter((part) => isJsonObject(part) && part.type === 'tool_result').length
      results += inside
      if (parts.length > inside) said++
    }
  }
  return `${said} ${results}`
}
