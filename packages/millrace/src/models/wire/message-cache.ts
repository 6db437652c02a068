import type { JsonObject, Message } from '../../protocol/index.ts'
import { toolCallsOf } from '../../protocol/index.ts'
import { keepText } from './body.ts'
import type { IdFormat } from './call-ids.ts'
import { callIds } from './call-ids.ts'

/** What an API gets for one message. Never modified: it is used again in every later round. */
export interface Converted {
  readonly items: readonly JsonObject[]
}

type RenameId = (callId: string) => string

/** Converts the messages of a conversation, one by one. */
export type ConvertMessages<Result> = (messages: readonly Message[]) => Result[]

interface Entry<Result> {
  readonly result: Result
  /** Its tool call ids that the API does not accept, and their new names. */
  readonly renamed: ReadonlyMap<string, string> | undefined
}

/**
 * Every round sends the whole conversation again. Each message is converted once, as long as the
 * conversation keeps it: a later round costs one lookup for it.
 *
 * `convert` must depend on nothing but the message and the names of its ids.
 */
export function messageCache<Result extends Converted>(
  format: IdFormat,
  convert: (message: Message, idOf: RenameId) => Result,
): ConvertMessages<Result> {
  const entries = new WeakMap<Message, Entry<Result>>()

  function convertNew(message: Message, idOf: RenameId): Entry<Result> {
    const result = convert(message, idOf)
    for (const item of result.items) keepText(item)
    const ids = idsIn(message).map((id) => [id, idOf(id)] as const)
    const renamed = ids.some(([id, name]) => id !== name) ? new Map(ids) : undefined
    const entry = { result, renamed }
    entries.set(message, entry)
    return entry
  }

  /** How an id is renamed depends on all ids before it. */
  function convertRenamed(messages: readonly Message[]): Result[] {
    const idOf = callIds(format)
    return messages.map((message) => {
      const entry = entries.get(message)
      const isSame = idsIn(message).every((id) => idOf(id) === (entry?.renamed?.get(id) ?? id))
      return (entry && isSame ? entry : convertNew(message, idOf)).result
    })
  }

  return (messages) => {
    const results: Result[] = []
    for (const message of messages) {
      const entry = entries.get(message)
      if (entry ? entry.renamed : !idsIn(message).every((id) => format.pattern.test(id)))
        return convertRenamed(messages)
      results.push((entry ?? convertNew(message, asIs)).result)
    }
    return results
  }
}

const asIs: RenameId = (callId) => callId

function idsIn(message: Message): string[] {
  return message.role === 'tool' ? [message.callId] : toolCallsOf(message).map(({ callId }) => callId)
}
