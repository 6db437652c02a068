import { useShortcut } from '../keyboard.ts'

/** j and k go from message to message, from the last one up if none has the focus. */
export function useRowKeys(): void {
  function move(step: 1 | -1) {
    // Those of a sub-agent are inside another one, and gone over.
    const rows = [...document.querySelectorAll<HTMLElement>('.chat-list article:not(article article)')]
    const at = rows.findIndex((row) => row.contains(document.activeElement))
    const next = at === -1 ? rows.at(-1) : rows[at + step]
    next?.focus()
  }
  useShortcut({ keys: 'j', does: 'Goes to the next message', run: () => move(1) })
  useShortcut({ keys: 'k', does: 'Goes to the message before', run: () => move(-1) })
}
