import type { ApprovalRequestEvent } from '../protocol/index.ts'
import { approvalQuestion, resultRequest } from './ask-approval.ts'
import type { Flags } from './flags.ts'
import { shellCommand } from './shell-words.ts'
import { withoutPassword } from './store-address.ts'
import { cleanLine } from './terminal/index.ts'

/** The flags that a later command on the same thread needs as well. */
function repeatedFlags(flags: Flags): string[] {
  const kept = ['model', 'system', 'tools', 'max-cost', 'store', 'data'] as const
  return kept.flatMap((name) => {
    const value = flags[name]
    return value === undefined ? [] : [`--${name}`, name === 'store' ? withoutPassword(value) : value]
  })
}

/** The command that continues a thread. */
export function resumeHint(threadId: string, flags: Flags): string {
  return `continue with: ${shellCommand(['--thread', threadId, ...repeatedFlags(flags)])}`
}

/** The pending tool calls, and the commands that answer them. */
export function approvalHints(
  threadId: string,
  flags: Flags,
  approvals: readonly ApprovalRequestEvent[],
): string[] {
  return approvals.flatMap((request) => {
    const command = (name: 'approve' | 'respond', ...words: string[]) =>
      shellCommand([
        name,
        threadId,
        // An id with unprintable characters cannot be pasted. A single pending call does not need its id.
        ...(cleanLine(request.callId) === request.callId ? [request.callId] : []),
        ...words,
        ...repeatedFlags(flags),
      ])
    const deny = `  to deny:    ${command('approve', '--deny', 'reason')}`
    if (request.wants) return [resultRequest(request), `  to respond: ${command('respond', 'RESULT')}`, deny]
    const what = request.budget ? '' : `${cleanLine(request.name)} is waiting for approval: `
    return [
      `${what}${approvalQuestion(request)}`,
      `  to approve: ${command('approve')}`,
      ...(request.remember?.for ?? []).map(
        (how) =>
          `  to approve ${how === 'thread' ? 'in this thread' : 'always'}: ${command('approve', '--remember', how)}`,
      ),
      deny,
    ]
  })
}
