import type { MillraceError, ThreadInfo } from 'millrace/client'
import { api, newThread } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { session, showNotice } from '../state.ts'
import { removeThread } from './list.ts'

export interface DeleteDialogProps {
  readonly thread: ThreadInfo
  onClose(): void
  /** Called after the thread was deleted. */
  onDone(): void
}

/** Asks for confirmation, since deleting cannot be undone. */
export function DeleteDialog({ thread, onClose, onDone }: DeleteDialogProps) {
  const { id, title = id } = thread
  return (
    <Dialog title="Delete this thread?" onClose={onClose}>
      <p class="threads-about">
        <q>{title}</q> and all its data will be deleted for everyone. A running answer is stopped. This cannot
        be undone.
      </p>
      <form
        method="dialog"
        class="threads-choice"
        onSubmit={({ submitter }) => {
          if ((submitter as HTMLButtonElement | null)?.value === 'delete')
            void deleteThread(id).then((isGone) => isGone && onDone())
        }}
      >
        <button type="submit" value="cancel">
          Cancel
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
    showNotice(`Can't delete the thread: ${(error as MillraceError).message}`)
    return false
  }
  if (session.value?.thread.id === id) newThread()
  removeThread(id)
  showNotice('Thread deleted.')
  return true
}
