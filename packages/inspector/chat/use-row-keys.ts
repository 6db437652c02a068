import { useShortcut } from '../keyboard.ts'

/** j and k move between messages, starting at the last one if none has the focus. */
export function useRowKeys(): void {
  function move(step: 1 | -1) {
    // The rows of a sub-agent are skipped.
    const rows = [...document.querySelectorAll<HTMLElement>('.chat-list article:not(article article)')]
    const at = rows.findIndex((row) => row.contains(document.activeElement))
    const next = at === -1 ? rows.at(-1) : rows[at + step]
    next?.focus()
  }
  useShortcut({ keys: 'j', label: 'Next message', run: () => move(1) })
  useShortcut({ keys: 'k', label: 'Previous message', run: () => move(-1) })
}
