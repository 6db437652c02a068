import type { ThreadState } from '../protocol/index.ts'
import { approvalsOf, conversationOf, nextThreadAction, usageOf } from '../protocol/index.ts'
import type { ThreadInfo, ThreadStatus } from './store.ts'
import type { ThreadView } from './thread.ts'

/** A thread as its log has it. What the store says of it may be older or newer, so its head and status are the log's. */
export function viewOf(info: ThreadInfo, state: ThreadState): ThreadView {
  const { run, waiting, head, error } = state
  return {
    ...info,
    head,
    status: statusOf(state),
    messages: conversationOf(state),
    approvals: approvalsOf(state),
    queued: waiting.map(({ seq, mode }) => ({ seq, mode })),
    usage: usageOf(state),
    ...(run && {
      run: {
        id: run.runId,
        rounds: run.round,
        ...(run.outcome && { outcome: run.outcome }),
        ...(error && { error }),
      },
    }),
  }
}

function statusOf(state: ThreadState): ThreadStatus {
  const action = nextThreadAction(state)
  if (action.type === 'wait') return 'waiting'
  if (action.type === 'idle') return 'idle'
  return action.type === 'start' ? 'queued' : 'running'
}
