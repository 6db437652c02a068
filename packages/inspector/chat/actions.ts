import type { SendOptions } from 'millrace/client'
import type { RunView } from 'millrace/view'
import { roundInput } from 'millrace/view'
import type { Session } from '../session.ts'
import { showNotice } from '../state.ts'
import { agentOf, modelOf } from './agents.ts'
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

/** Answers again, with the model that is selected now. The rest of the request stays. */
export function retry(session: Session, { seq, rounds }: RunView): Promise<unknown> {
  const { thread, entries } = session
  const agent = agentOf(session)
  const model = agent && modelOf(session, agent)
  const [first] = rounds
  const isOther = model !== undefined && first !== undefined && rounds.at(-1)?.model !== model
  const options = isOther ? { request: { ...roundInput(entries, first.seq).request, model } } : {}
  return thread.rewind(seq, options).catch(showError)
}

/** Shows another version: goes back to before the entry that replaced it. */
export function restore({ thread }: Session, before: number): Promise<unknown> {
  return thread.rewind(before).catch(showError)
}

/** Replaces a message and what follows. Restores them if the new message cannot be sent. */
export async function replaceMessage(
  { thread }: Session,
  seq: number,
  draft: Draft,
  options?: SendOptions,
): Promise<void> {
  const rewound = await thread.rewind(seq)
  try {
    await thread.send(messageOf(draft), options)
  } catch (error) {
    await thread.rewind(rewound).catch(() => {})
    throw error
  }
}

export function stop({ thread }: Session): Promise<unknown> {
  return thread.stop().catch(showError)
}

export function showError(error: Error): void {
  showNotice(error.message)
}
