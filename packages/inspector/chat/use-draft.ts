import { useSignal } from '@preact/signals'
import type { Draft } from './draft.ts'
import { bytesOf } from './draft.ts'
import { attachedImage } from './image.ts'
import { draftOf, keepDraft } from './kept-drafts.ts'

/** The server takes bodies of 1 MiB, and beside the message there is something in it too. */
const mostBytes = 900_000

/** What is being written in a thread, and why it cannot be sent or added to. */
export function useDraft(thread: string) {
  const draft = useSignal(draftOf(thread))
  const problem = useSignal('')

  function change(changes: Partial<Draft>) {
    draft.value = { ...draft.value, ...changes }
    keepDraft(thread, draft.value)
    problem.value = ''
  }

  /** One after the other, since each takes of the room that is left. Meanwhile the person may go on writing. */
  async function attach(files: Iterable<Blob>) {
    // A browser may empty its list as soon as the event is over.
    for (const file of [...files])
      try {
        const image = await attachedImage(file, mostBytes - bytesOf(draft.value))
        change({ attachments: [...draft.value.attachments, image] })
      } catch (error) {
        problem.value = (error as Error).message
      }
  }

  return { draft, problem, change, attach }
}
