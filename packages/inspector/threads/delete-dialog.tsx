import type { MillraceError, ThreadInfo } from 'millrace/client'
import { api, newThread } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { say, session } from '../state.ts'
import { forget } from './list.ts'

export interface DeleteDialogProps {
  readonly thread: ThreadInfo
  onClose(): void
  /** It is gone. */
  onDone(): void
}

/** Asks first: there is no way back. */
export function DeleteDialog({ thread, onClose, onDone }: DeleteDialogProps) {
  const { id, title = id } = thread
  return (
    <Dialog title="Delete this thread?" onClose={onClose}>
      <p class="threads-about">
        <q>{title}</q> and everything in it will be gone, for everybody who sees it. If something is running
        in it, that ends.
      </p>
      <form
        method="dialog"
        class="threads-choice"
        onSubmit={({ submitter }) => {
          if ((submitter as HTMLButtonElement | null)?.value === 'delete')
            void deleteThread(id).then((isGone) => isGone && onDone())
        }}
      >
        <button type="submit" value="keep">
          Keep it
        </button>
        <button type="submit" value="delete" class="danger">
          Delete
        </button>
      </form>
    </Dialog>
  )
}

async function deleteThread(id: string): Promise<boolean> {
  try {
    await api.thread(id).delete()
  } catch (error) {
    say(`The thread cannot be deleted: ${(error as MillraceError).message}`)
    return false
  }
  if (session.value?.thread.id === id) newThread()
  forget(id)
  say('The thread is deleted.')
  return true
}
