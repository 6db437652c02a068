import { useSignal } from '@preact/signals'
import type { Draft } from './draft.ts'
import { bytesOf } from './draft.ts'
import { loadDraft, saveDraft } from './draft-storage.ts'
import { imageAttachment } from './image.ts'

/** The server accepts bodies of up to 1 MiB, which contain more than the message. */
const maxBytes = 900_000

/** The draft of a thread, and why it could not be sent or an attachment not added. */
export function useDraft(thread: string) {
  const draft = useSignal(loadDraft(thread))
  const problem = useSignal('')

  function change(changes: Partial<Draft>) {
    draft.value = { ...draft.value, ...changes }
    saveDraft(thread, draft.value)
    problem.value = ''
  }

  /** One at a time, since each image uses some of the remaining size. The user can keep typing. */
  async function attach(files: Iterable<Blob>) {
    // The browser may clear its list when the event handler returns.
    for (const file of [...files])
      try {
        const image = await imageAttachment(file, maxBytes - bytesOf(draft.value))
        change({ attachments: [...draft.value.attachments, image] })
      } catch (error) {
        problem.value = (error as Error).message
      }
  }

  return { draft, problem, change, attach }
}
