import { useEffect } from 'preact/hooks'
import { visible } from '../json/visible.ts'
import { useAction } from '../keyboard.ts'
import type { Session } from '../session.ts'
import { titleIn } from './list.ts'
import { RenameInput, renaming } from './rename.tsx'

/** The title of the open thread, in the bar. A click renames it. */
export function OpenTitle({ session }: { readonly session: Session }) {
  const { id } = session.thread
  // A new title is in the log before it is in the list.
  const title = visible((session.tick.value < 0 ? undefined : session.log.title) ?? titleIn(id) ?? '')
  const start = () => (renaming.value = { id, place: 'bar' })
  useAction({
    id: 'rename',
    label: 'Rename thread',
    keys: 'F2',
    run: start,
    whileTyping: true,
    isAvailable: () => title !== '',
  })
  useEffect(() => {
    document.title = title ? `${title} · Millrace` : 'Millrace'
    return () => {
      document.title = 'Millrace'
    }
  }, [title])
  if (!title) return null
  const isRenaming = renaming.value?.place === 'bar' && renaming.value.id === id
  return (
    <div class="app-title">
      {isRenaming ? (
        <RenameInput id={id} title={title} onEnd={() => document.getElementById('chat')?.focus()} />
      ) : (
        <button type="button" class="plain" dir="auto" title="Rename (F2)" onClick={start}>
          {title}
        </button>
      )}
    </div>
  )
}
