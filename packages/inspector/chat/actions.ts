import type { Session } from '../session.ts'
import { showNotice } from '../state.ts'
import { openAndFocus } from './composer-focus.ts'
import type { Draft } from './draft.ts'
import { saveDraft } from './draft-storage.ts'

/** Forks the thread at entry `at` and opens the fork, with an optional draft. */
export async function forkWith({ thread }: Session, at: number, draft?: Draft): Promise<void> {
  const fork = await thread.fork(at).catch(showError)
  if (!fork) return
  if (draft) saveDraft(fork.id, draft)
  openAndFocus(fork.id)
  showNotice('Opened a new thread.')
}

export function stop({ thread }: Session): Promise<unknown> {
  return thread.stop().catch(showError)
}

function showError(error: Error): void {
  showNotice(error.message)
}
