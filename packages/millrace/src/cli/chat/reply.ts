import type { ApprovalRequestEvent, JsonObject, RememberFor } from '../../protocol/index.ts'
import { isObject, messageOf } from '../../protocol/index.ts'
import { spelledLine } from '../terminal/index.ts'

/** What a person has answered when asked about a call. */
export type Reply =
  | { readonly type: 'approve'; readonly input?: JsonObject; readonly remember?: RememberFor }
  | { readonly type: 'decline'; readonly reason?: string }
  | { readonly type: 'edit' }
  | { readonly type: 'unclear'; readonly message: string }

/** What may be answered to a request. */
export function replyHelp({ remember }: Pick<ApprovalRequestEvent, 'remember'>): string {
  const more = remember?.for.map(
    (how) => ` · ${how === 'thread' ? 't yes, in this thread' : 'a yes, always'}`,
  )
  // What would be allowed is shown before it is.
  const rules = remember ? ` (${spelledLine(remember.rules.join(', '))})` : ''
  return `y yes${more?.join('') ?? ''}${rules} · n no, or n and why not · e change the input`
}

/**
 * Reads an answer. Nothing is done for one that is not clear: it may be a message that somebody was about to write when the
 * question came up.
 */
export function readReply(text: string, request: Pick<ApprovalRequestEvent, 'remember'>): Reply {
  const [, word = '', rest = ''] = /^(\S*)\s*(.*)$/s.exec(text.trim()) ?? []
  switch (word.toLowerCase()) {
    case 'y':
    case 'yes':
      return rest ? unclear(request) : { type: 'approve' }
    case 't':
    case 'thread':
      return rest ? unclear(request) : remembered('thread', request)
    case 'a':
    case 'always':
      return rest ? unclear(request) : remembered('always', request)
    case 'n':
    case 'no':
      return { type: 'decline', ...(rest && { reason: rest }) }
    case 'e':
    case 'edit':
      return rest ? readInput(rest) : { type: 'edit' }
    default:
      return unclear(request)
  }
}

function remembered(how: RememberFor, request: Pick<ApprovalRequestEvent, 'remember'>): Reply {
  return request.remember?.for.includes(how) ? { type: 'approve', remember: how } : unclear(request)
}

function unclear(request: Pick<ApprovalRequestEvent, 'remember'>): Reply {
  return { type: 'unclear', message: `a call waits for you: ${replyHelp(request)}` }
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
