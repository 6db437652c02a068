import type { ApprovalRequestEvent, JsonObject, RememberFor } from '../../protocol/index.ts'
import { isObject, messageOf } from '../../protocol/index.ts'
import { rememberChoices } from '../ask-approval.ts'

/** The user's answer to an approval request. */
export type Reply =
  | { readonly type: 'approve'; readonly input?: JsonObject; readonly remember?: RememberFor }
  | { readonly type: 'deny'; readonly reason?: string }
  | { readonly type: 'edit' }
  | { readonly type: 'unclear'; readonly message: string }

type Request = Pick<ApprovalRequestEvent, 'remember' | 'budget'>

/** The possible answers to a request. */
export function replyHelp(request: Request): string {
  if (request.budget) return '[y] yes · [n] no · [e] change the amount'
  return `[y] allow once · ${rememberChoices(request)}[n] deny (add a reason) · [e] edit`
}

/**
 * Parses an answer. Anything unclear decides nothing: it may be a message that the user was typing
 * when the request came up.
 */
export function readReply(text: string, request: Request): Reply {
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
      return { type: 'deny', ...(rest && { reason: rest }) }
    case 'e':
    case 'edit':
      return rest ? readInput(rest) : { type: 'edit' }
    default:
      return unclear(request)
  }
}

function remembered(how: RememberFor, request: Request): Reply {
  return request.remember?.for.includes(how) ? { type: 'approve', remember: how } : unclear(request)
}

function unclear(request: Request): Reply {
  const what = request.budget ? 'the agent asks to spend more' : 'a tool call is waiting for approval'
  return { type: 'unclear', message: `${what}: ${replyHelp(request)}` }
}

function readInput(text: string): Reply {
  try {
    const input: unknown = JSON.parse(text)
    if (isObject(input)) return { type: 'approve', input: input as JsonObject }
    return { type: 'unclear', message: 'the arguments must be a JSON object: e {"key": "value"}' }
  } catch (error) {
    return { type: 'unclear', message: `invalid JSON: ${messageOf(error)}` }
  }
}
