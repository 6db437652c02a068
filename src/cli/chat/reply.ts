import type { JsonObject } from '../../protocol/index.ts'
import { isObject, messageOf } from '../../protocol/index.ts'

/** What a person has answered when asked about a call. */
export type Reply =
  | { readonly type: 'approve'; readonly input?: JsonObject }
  | { readonly type: 'decline'; readonly reason?: string }
  | { readonly type: 'edit' }
  | { readonly type: 'unclear'; readonly message: string }

export const replyHelp = 'y yes · n no, or n and why not · e change the input'

/**
 * Reads an answer. Nothing is done for one that is not clear: it may be a message that somebody was about to write when the
 * question came up.
 */
export function readReply(text: string): Reply {
  const [, word = '', rest = ''] = /^(\S*)\s*(.*)$/s.exec(text.trim()) ?? []
  switch (word.toLowerCase()) {
    case 'y':
    case 'yes':
      return rest ? unclear() : { type: 'approve' }
    case 'n':
    case 'no':
      return { type: 'decline', ...(rest && { reason: rest }) }
    case 'e':
    case 'edit':
      return rest ? readInput(rest) : { type: 'edit' }
    default:
      return unclear()
  }
}

function unclear(): Reply {
  return { type: 'unclear', message: `a call waits for you: ${replyHelp}` }
}

function readInput(text: string): Reply {
  try {
    const input: unknown = JSON.parse(text)
    if (isObject(input)) return { type: 'approve', input: input as JsonObject }
    return { type: 'unclear', message: 'the input of a call is a JSON object: e {"key": "value"}' }
  } catch (error) {
    return { type: 'unclear', message: `that is not JSON: ${messageOf(error)}` }
  }
}
