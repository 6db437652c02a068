import type { Session } from '../session.ts'
import { say } from '../state.ts'
import type { Draft } from './draft.ts'
import { goTo } from './focus-next.ts'
import { keepDraft } from './kept-drafts.ts'

/** A new thread with the log up to a number, and something that is about to be said in it. */
export async function forkWith({ thread }: Session, at: number, draft?: Draft): Promise<void> {
  const fork = await thread.fork(at).catch(tell)
  if (!fork) return
  if (draft) keepDraft(fork.id, draft)
  goTo(fork.id)
  say('This is a new thread.')
}

export function stop({ thread }: Session): Promise<unknown> {
  return thread.stop().catch(tell)
}

/** What goes wrong is told where everybody sees it. */
function tell(error: Error): void {
  say(error.message)
}
