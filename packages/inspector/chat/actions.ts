import type { Session } from '../session.ts'
import { showNotice } from '../state.ts'
import { openAndFocus } from './composer-focus.ts'
import type { Draft } from './draft.ts'
import { messageOf } from './draft.ts'

/** Forks the thread at entry `at` and opens the fork. */
export async function fork({ thread }: Session, at: number): Promise<void> {
  const forked = await thread.fork(at).catch(showError)
  if (!forked) return
  openAndFocus(forked.id)
  showNotice('Opened a new thread.')
}

/** Goes back to before an entry: to answer again, or to show another version. */
export function rewind({ thread }: Session, before: number): Promise<unknown> {
  return thread.rewind(before).catch(showError)
}

/** Replaces a message and what follows. Restores them if the new message cannot be sent. */
export async function replaceMessage({ thread }: Session, seq: number, draft: Draft): Promise<void> {
  const rewound = await thread.rewind(seq)
  try {
    await thread.send(messageOf(draft))
  } catch (error) {
    await thread.rewind(rewound).catch(() => {})
    throw error
  }
}

export function stop({ thread }: Session): Promise<unknown> {
  return thread.stop().catch(showError)
}

function showError(error: Error): void {
  showNotice(error.message)
}
