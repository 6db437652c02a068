import { signal } from '@preact/signals'
import type { MillraceError } from 'millrace/client'
import { api, newThread, openThread } from '../api.ts'
import { session, showNotice } from '../state.ts'
import { showToast } from '../toasts.ts'
import { removeThread } from './list.ts'

const undoMs = 8000

/** Threads that the user deleted: not shown, although the server may still have them. */
export const deleted = signal<ReadonlySet<string>>(new Set())

/** Ends the time in which the last deletion can be undone, and sends it. */
let endUndo: () => void = () => {}

/** Hides a thread at once. It is deleted for everyone when the user can no longer undo it. */
export function deleteThread(id: string): void {
  endUndo()
  const wasOpen = session.value?.thread.id === id
  deleted.value = new Set([...deleted.value, id])
  if (wasOpen) newThread()
  endUndo = showToast({
    text: 'Thread deleted.',
    showMs: undoMs,
    action: {
      label: 'Undo',
      run() {
        restore(id)
        if (wasOpen) openThread(id)
      },
    },
    onEnd: () => void send(id),
  })
}

function restore(id: string): void {
  deleted.value = new Set([...deleted.value].filter((other) => other !== id))
}

async function send(id: string): Promise<void> {
  try {
    await api.thread(id).delete()
    removeThread(id)
  } catch (error) {
    showNotice(`Can't delete the thread: ${(error as MillraceError).message}`)
    restore(id)
  }
}

// A page that is hidden may never run again.
addEventListener('pagehide', () => endUndo())
document.addEventListener('visibilitychange', () => document.hidden && endUndo())
