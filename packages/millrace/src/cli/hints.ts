import type { ApprovalRequestEvent } from '../protocol/index.ts'
import { questionOf } from './confirm.ts'
import type { Flags } from './flags.ts'
import { shellCommand } from './shell-words.ts'
import { cleanLine } from './terminal/index.ts'

/** The flags that a later command on the same thread needs as well. */
function sameFlags(flags: Flags): string[] {
  const kept = ['model', 'system', 'tools', 'data'] as const
  return kept.flatMap((name) => (flags[name] === undefined ? [] : [`--${name}`, flags[name]]))
}

/** How to go on with a thread. */
export function resumeHint(threadId: string, flags: Flags): string {
  return `to go on: ${shellCommand(['--thread', threadId, ...sameFlags(flags)])}`
}

/** What waits for a person, and how to decide about it. */
export function decisionHints(
  threadId: string,
  flags: Flags,
  approvals: readonly ApprovalRequestEvent[],
): string[] {
  return approvals.flatMap((request) => {
    const command = (...words: string[]) =>
      shellCommand([
        'approve',
        threadId,
        // Some id of a provider's that cannot be shown cannot be pasted either; of a lone call it is not needed.
        ...(cleanLine(request.callId) === request.callId ? [request.callId] : []),
        ...words,
        ...sameFlags(flags),
      ])
    return [
      `${cleanLine(request.name)} waits for a person: ${questionOf(request)}`,
      `  to allow it:   ${command()}`,
      ...(request.remember?.for ?? []).map(
        (how) =>
          `  to allow it ${how === 'thread' ? 'in this thread' : 'always'}: ${command('--remember', how)}`,
      ),
      `  to decline it: ${command('--deny', 'reason')}`,
    ]
  })
}
